"""A server that converts units: one tool, one resource, one prompt.

Run it as a program and it speaks MCP on stdin and stdout::

    python examples/unit_converter.py
"""

from __future__ import annotations

from trio_mcp import MCPServer, ToolError

mcp = MCPServer("unit-converter", version="1.0.0")

# What one unit is in the base unit of its dimension: metre, kilogram, litre.
UNITS = {
    "length": {
        "mm": 0.001,
        "cm": 0.01,
        "m": 1.0,
        "km": 1000.0,
        "in": 0.0254,
        "ft": 0.3048,
        "yd": 0.9144,
        "mi": 1609.344,
    },
    "mass": {"g": 0.001, "kg": 1.0, "oz": 0.028349523125, "lb": 0.45359237},
    "volume": {"ml": 0.001, "l": 1.0, "tsp": 0.00492892, "tbsp": 0.0147868, "cup": 0.236588},
}


def dimension_of(unit: str) -> str:
    for dimension, units in UNITS.items():
        if unit in units:
            return dimension
    raise ToolError(f"unknown unit {unit!r}; units://all lists them")


@mcp.tool()
def convert(value: float, from_unit: str, to_unit: str) -> float:
    """Convert a value from one unit to another of the same dimension.

    Args:
      value: How much.
      from_unit: The unit it is in, such as mi.
      to_unit: The unit to convert it to, such as km.
    """
    source, target = dimension_of(from_unit), dimension_of(to_unit)
    if source != target:
        raise ToolError(f"cannot convert {source} ({from_unit}) to {target} ({to_unit})")
    units = UNITS[source]
    # Ten digits are plenty, and hide that floats cannot hold 0.0254.
    return round(value * units[from_unit] / units[to_unit], 10)


@mcp.resource("units://all", mime_type="text/plain")
def all_units() -> str:
    """Every unit that can be converted, by dimension."""
    return "\n".join(f"{dimension}: {', '.join(units)}" for dimension, units in UNITS.items())


@mcp.prompt()
def recipe_to_metric(recipe: str) -> str:
    """Ask for a recipe in metric units.

    Args:
      recipe: The recipe, in any units.
    """
    return (
        "Rewrite this recipe in metric units. Use the convert tool for every amount, "
        f"and keep everything else as it is.\n\n{recipe}"
    )


if __name__ == "__main__":
    mcp.run("stdio")
