"""Blocks of extensions round the life of a session: what fails inside leaves as it is."""

from __future__ import annotations

import logging
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest
import trio

from trio_mcp import Client, MCPServer
from trio_mcp.client import ClientExtension, ClientSession
from trio_mcp.transports import open_memory_channel_pair


def with_block(block: Any) -> Client:
    class Shop(ClientExtension):
        identifier = "com.example/shop"
        lifespan = block

    return Client(MCPServer("shop"), extensions=[Shop()])


@asynccontextmanager
async def nursery(_self: Any, _session: Any) -> Any:
    async with trio.open_nursery() as opened:
        yield opened


@asynccontextmanager
async def forgiving(_self: Any, _session: Any) -> Any:
    with suppress(Exception):
        yield


@asynccontextmanager
async def failing(_self: Any, _session: Any) -> Any:
    try:
        yield
    finally:
        raise ValueError("the shop is on fire")


@pytest.mark.parametrize("block", [nursery, forgiving, failing])
async def test_what_fails_in_a_session_leaves_as_it_is(block: Any) -> None:
    with pytest.raises(KeyError, match="its own"):
        async with with_block(block):
            raise KeyError("its own")


async def test_a_block_that_fails_while_something_else_leaves_is_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with pytest.raises(KeyError, match="its own"):
        async with with_block(failing):
            raise KeyError("its own")
    errors = [each for each in caplog.records if each.levelno == logging.ERROR]
    assert [each.getMessage() for each in errors] == [
        "The lifespan of the extension 'com.example/shop' could not be left properly"
    ]


async def test_a_block_that_fails_by_itself_is_raised() -> None:
    with pytest.raises(ValueError, match="on fire"):
        async with with_block(failing):
            pass


@pytest.mark.parametrize("block", [nursery, forgiving])
async def test_a_session_is_cancelled_whatever_the_block_does(block: Any) -> None:
    with trio.CancelScope() as scope:
        async with with_block(block):
            scope.cancel()
            await trio.sleep_forever()
    assert scope.cancelled_caught


async def test_what_fails_in_a_block_ends_its_session() -> None:
    with pytest.RaisesGroup(pytest.RaisesExc(ValueError, match="sold out")):
        async with with_block(nursery) as client:

            async def sell() -> None:
                raise ValueError("sold out")

            client.session.lifespan_states["com.example/shop"].start_soon(sell)
            await trio.sleep_forever()


async def no_block(_self: Any, _session: Any) -> Any:
    yield


async def test_what_is_no_block_is_named() -> None:
    expected = (
        "The lifespan of the extension 'com.example/shop': expected an async context manager"
    )
    with pytest.raises(TypeError, match=expected):
        async with with_block(no_block):
            pytest.fail("it was entered")


@pytest.mark.parametrize(
    "hook", ["settings", "claims", "notifications", "requests", "capabilities", "lifespan"]
)
def test_a_hook_is_a_function(hook: str) -> None:
    odd = type("Odd", (ClientExtension,), {"identifier": "com.example/odd", hook: 5})()
    near, far = open_memory_channel_pair()
    with pytest.raises(TypeError, match=rf"Odd\.{hook}: expected a function, got int"):
        ClientSession(near, far, extensions=[odd])
