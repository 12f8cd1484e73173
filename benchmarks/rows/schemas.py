"""Publishing a function whose argument is nested, and checking arguments. Processor time."""

# Without the future import: the hints name classes that exist only inside a function.

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.measures import Figure, measure
from benchmarks.sides.side import Side
from benchmarks.timing import cpu_of_each


# From a function with hints to a tool in the list. Each time other classes, as no program
# publishes the same ones again. Validators are made later, before the first call.
@measure(Figure("register a nested tool", "us", 0.30, 0.10), count=60)
def register_nested(side: Side, count: int) -> list[float]:
    functions = [_make_order() for _ in range(count + 1)]
    register = side.schemas().registrar()
    register(functions.pop(), "first")
    start = time.process_time_ns()
    for number, function in enumerate(functions):
        register(function, f"order_{number}")
    return [(time.process_time_ns() - start) / 1000 / count]


# An order of five items that fits its schema. The official SDK converts as it checks.
@measure(
    Figure("check one object, fast engine", "us", 1.0, 0.9),
    Figure("check one object, full engine", "us", 0.2, 0.12),
    Figure("check and convert one object", "us"),
    count=5000,
)
def check_nested(side: Side, count: int) -> list[float]:
    checkers = side.schemas().checkers(_make_order())
    return [
        cpu_of_each(functools.partial(checkers[name], ORDER), count)
        for name in ("check", "full", "convert")
    ]


def _make_order() -> Callable[..., Any]:
    @dataclass
    class Item:
        sku: str
        quantity: int
        price: float
        tags: list[str]

    @dataclass
    class Address:
        street: str
        city: str
        country: str
        zip_code: str | None = None

    @dataclass
    class Order:
        number: int
        customer: str
        items: list[Item]
        address: Address
        note: str | None = None

    async def place_order(order: Order, urgent: bool = False) -> dict[str, int]:
        """Place an order."""
        return {order.customer: len(order.items) + urgent}

    return place_order


ORDER: dict[str, Any] = {
    "order": {
        "number": 7,
        "customer": "Ada",
        "items": [
            {"sku": f"A-{number}", "quantity": number, "price": 9.5, "tags": ["new", "red"]}
            for number in range(1, 6)
        ],
        "address": {"street": "Main St 1", "city": "Bern", "country": "CH", "zip_code": "3000"},
        "note": None,
    },
    "urgent": True,
}
