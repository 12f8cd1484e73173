"""Our client and a server of the official SDK over HTTP, in every revision."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from trio_mcp import Client
from trio_mcp.transports import streamable_http_client

from ._http_peers import http_peer
from ._peers import OLDER_REVISIONS
from .test_official_server import (
    check_calls,
    check_cancelling,
    check_errors,
    check_lists,
    check_logging,
    check_progress,
    check_prompts_and_completion,
    check_resources,
    check_what_a_server_may_ask,
    check_what_the_server_says_of_itself,
    list_roots,
    sample,
)

if TYPE_CHECKING:
    from trio_mcp.types import LoggingMessageNotificationParams

# Streamable HTTP came with the second revision.
MODES = ["auto", "2026-07-28", "legacy", *OLDER_REVISIONS[1:]]


@pytest.mark.limit(60)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="streams"),
        pytest.param({"json_response": True}, id="json"),
        pytest.param({"stateless_http": True}, id="stateless"),
    ],
)
async def test_every_feature_of_a_server(mode: str, options: dict[str, Any]) -> None:
    logged: list[LoggingMessageNotificationParams] = []

    async def log(params: LoggingMessageNotificationParams) -> None:
        logged.append(params)

    async with (
        http_peer(**options) as url,
        Client(
            # The default is that of `mcp`, and too small for what is echoed here.
            streamable_http_client(url, max_sse_event_size=None),
            mode=mode,
            logging_callback=log,
            log_level="info",
            list_roots_callback=list_roots,
            sampling_callback=sample,
        ) as client,
    ):
        await check_what_the_server_says_of_itself(client, mode)
        await check_lists(client)
        await check_calls(client)
        await check_errors(client)
        await check_resources(client)
        await check_prompts_and_completion(client)
        is_modern = client.protocol_version == "2026-07-28"
        if options == {} or (is_modern and "json_response" not in options):
            # What is said beside the answer needs a stream.
            await check_progress(client)
            await check_cancelling(client)
            await check_logging(client, logged)
            await check_what_a_server_may_ask(client)


@pytest.mark.limit(60)
@pytest.mark.parametrize("mode", ["auto", *OLDER_REVISIONS])
async def test_every_feature_of_a_server_over_http_sse(mode: str) -> None:
    async with (
        http_peer(sse=True) as url,
        # The way is found out, too.
        Client(
            url,
            mode=mode,
            list_roots_callback=list_roots,
            sampling_callback=sample,
        ) as client,
    ):
        # Their server speaks the newest revision over this carrier as well.
        assert client.protocol_version == ("2026-07-28" if mode == "auto" else mode)
        await check_lists(client)
        await check_calls(client)
        await check_errors(client)
        await check_progress(client)
        await check_cancelling(client)
        await check_resources(client)
        await check_prompts_and_completion(client)
        await check_what_a_server_may_ask(client)
