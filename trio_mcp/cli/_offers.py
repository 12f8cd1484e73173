"""Everything that a server offers: gathered page by page, shown at a glance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import attrs
from rich.table import Table
from rich.text import Text

from trio_mcp._codec import encode
from trio_mcp.cli._clean import clean, one_line
from trio_mcp.errors import MCPError
from trio_mcp.types import METHOD_NOT_FOUND
from trio_mcp.types._base import is_object

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from trio_mcp.client import Client, Pages
    from trio_mcp.types import Prompt, Resource, ResourceTemplate, Tool
    from trio_mcp.types._base import JsonObject


@attrs.frozen
class Offers:
    """What a server lists."""

    tools: Sequence[Tool]
    resources: Sequence[Resource]
    templates: Sequence[ResourceTemplate]
    prompts: Sequence[Prompt]

    def to_json(self, client: Client) -> JsonObject:
        """Write the lists as they came, under the names that the protocol gives them."""
        revision = client.session.revision
        assert revision is not None
        return {
            "tools": [encode(each, revision) for each in self.tools],
            "resources": [encode(each, revision) for each in self.resources],
            "resourceTemplates": [encode(each, revision) for each in self.templates],
            "prompts": [encode(each, revision) for each in self.prompts],
        }


async def gather_offers(client: Client) -> Offers:
    """Ask for all pages of all lists that the server announces.

    Raises:
      MCPError: if it refuses one of them.

    """
    await ask_what_is_offered(client)
    can = client.server_capabilities
    return Offers(
        tools=await _all(client.iter_tools()) if can.tools is not None else (),
        resources=await _all(client.iter_resources()) if can.resources is not None else (),
        templates=await _templates(client) if can.resources is not None else (),
        prompts=await _all(client.iter_prompts()) if can.prompts is not None else (),
    )


async def ask_what_is_offered(client: Client) -> None:
    """Ask a modern server what it can do, where the mode took it at its word."""
    revision = client.session.revision
    if client.mode == client.protocol_version and revision is not None and revision.is_modern:
        await client.session.discover()


async def _templates(client: Client) -> Sequence[ResourceTemplate]:
    try:
        return await _all(client.iter_resource_templates())
    except MCPError as exc:
        # The capability covers both lists, and many servers have only the first.
        if exc.code == METHOD_NOT_FOUND:
            return ()
        raise


async def _all(pages: Pages[Any]) -> list[Any]:
    return [each async for each in pages]


# For people


def headline(client: Client) -> Text:
    """Name the server and the revision."""
    info = client.server_info
    name = "a server without a name" if info is None else one_line(info.title or info.name)
    text = Text(name, "bold")
    if info is not None and info.version:
        text.append(f" {one_line(info.version)}")
    return text.append(f" · MCP {client.protocol_version}", "dim")


def overview(client: Client, offers: Offers) -> Table:
    """Draw all lists, one below the other, in common columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(overflow="fold", ratio=None)
    table.add_column(overflow="fold")
    table.add_row(headline(client))
    _section(table, "tools", ((_call(tool), tool.description) for tool in offers.tools))
    _section(
        table,
        "resources",
        ((Text(clean(each.uri), "cyan"), _about(each)) for each in offers.resources),
    )
    _section(
        table,
        "resource templates",
        ((Text(clean(each.uri_template), "cyan"), _about(each)) for each in offers.templates),
    )
    _section(table, "prompts", ((_fill(each), each.description) for each in offers.prompts))
    return table


def _section(table: Table, title: str, rows: Iterable[tuple[Text, str | None]]) -> None:
    rows = list(rows)
    if not rows:
        return
    table.add_row()
    table.add_row(Text(title, "dim"))
    for left, description in rows:
        table.add_row(Text("  ").append_text(left), _first_paragraph(description))


def _first_paragraph(text: str | None) -> Text:
    return Text(one_line((text or "").strip().partition("\n\n")[0]))


def _about(each: Resource | ResourceTemplate) -> str:
    kind = f" ({each.mime_type})" if each.mime_type else ""
    return f"{each.description or each.title or each.name}{kind}"


def _call(tool: Tool) -> Text:
    schema = tool.input_schema
    properties: Any = schema.get("properties")
    required: Any = schema.get("required")
    names = list(properties) if is_object(properties) else []
    needed = cast("list[str]", required if isinstance(required, list) else [])
    return _signature(tool.name, [(name, name in needed) for name in names])


def _fill(prompt: Prompt) -> Text:
    arguments = prompt.arguments or []
    return _signature(prompt.name, [(each.name, bool(each.required)) for each in arguments])


def _signature(name: str, parameters: Sequence[tuple[str, bool]]) -> Text:
    text = Text(one_line(name), "cyan")
    shown = [one_line(each if needed else f"{each}?") for each, needed in parameters]
    return text.append(f"({', '.join(shown)})", "not bold default")
