"""What type checkers are told of keyword arguments is what is declared, and what is taken."""

from __future__ import annotations

from typing import Any

import attrs
import pytest

from trio_mcp import transports
from trio_mcp.transports import HttpOptions, HttpPaths, ServeOptions
from trio_mcp.transports.http._making import LISTENING, SSE, STREAMABLE_HTTP

DECLARED = {
    field.name: field.type
    for cls in (HttpOptions, HttpPaths, ServeOptions)
    for field in attrs.fields(cls)
}


def keywords(name: str) -> dict[str, Any]:
    found = getattr(transports, name)
    assert found.__required_keys__ == frozenset()
    return {key: hint.__forward_arg__ for key, hint in found.__annotations__.items()}


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("StreamableHttpAppOptions", {*STREAMABLE_HTTP, "host"}),
        ("SseAppOptions", {*SSE, "host"}),
        ("RunStreamableHttpOptions", {*STREAMABLE_HTTP, *LISTENING}),
        ("RunSseOptions", {*SSE, *LISTENING}),
        ("ServeHttpOptions", {*STREAMABLE_HTTP, *SSE, *LISTENING} - {"host", "port"}),
    ],
)
def test_type_checkers_know_what_is_taken(name: str, taken: set[str]) -> None:
    known = keywords(name)
    assert set(known) == taken
    assert known == {each: DECLARED[each] for each in taken}


def test_every_option_of_an_endpoint_is_taken() -> None:
    assert {*STREAMABLE_HTTP, *SSE} == {
        field.name for cls in (HttpOptions, HttpPaths) for field in attrs.fields(cls)
    }
