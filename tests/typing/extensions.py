"""How servers and clients are given extensions; this file is checked, and never run."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from typing import Any, assert_type

from trio_mcp import Client, Context, MCPServer
from trio_mcp.client import (
    ClientExtension,
    ClientRequestContext,
    ClientSession,
    RequestAnswer,
    RequestBinding,
    RequestNext,
)
from trio_mcp.extensions import (
    AcceptedTasks,
    AppDocument,
    Apps,
    AppsClientExtension,
    ClientTask,
    DetailedTask,
    HeldSkill,
    ResourceCsp,
    SkillApproval,
    SkillResource,
    SkillsClient,
    SkillsClientExtension,
    SkillsExtension,
    TasksClientExtension,
    ToolUI,
    VerifiedFile,
    ask_in_task,
    client_supports_apps,
    content_security_policy,
    is_callable_by_app,
    read_app,
    tools_for_model,
)
from trio_mcp.server import CacheHint, ServerRequestContext
from trio_mcp.types import (
    ClientCapabilities,
    CreateMessageRequest,
    CreateMessageResult,
    CreateMessageResultWithTools,
    ElicitRequest,
    ElicitResult,
    InputRequest,
    PaginatedRequestParams,
    Resource,
    Tool,
)

apps = Apps()
apps.add_html_resource("ui://clock", "<p>", csp=ResourceCsp(connect_domains=["https://a.example"]))


@apps.tool(resource_uri="ui://clock", visibility=["app"], title="Time")
def get_time(ctx: Context) -> str:
    assert_type(client_supports_apps(ctx), bool)
    return "12:00"


# A decorated function stays what it is.
assert_type(get_time(Context()), str)

skills = SkillsExtension(
    [Path("skills"), "more"], unlisted={"skill://x/SKILL.md"}, cache_hint=CacheHint(ttl_ms=1)
)
mcp = MCPServer("office", extensions=[apps, skills])


async def use_skills(client: Client) -> None:
    reader = SkillsClient(client, server="office")
    async for skill in reader.iter_skills():
        assert_type(skill, HeldSkill)
        assert_type(skill.approval, SkillApproval | None)
        assert_type(await reader.read_file(skill), VerifiedFile)
        for uri, file in skill.files.items():
            assert_type(uri, str)
            assert_type(file, SkillResource)
    held, cursor = await reader.list_skills()
    assert_type(held, list[HeldSkill])
    assert_type(cursor, str | None)
    async for resource in reader.iter_directory(held[0].root):
        assert_type(resource, Resource)


async def be_a_host() -> None:
    extensions = [AppsClientExtension(), SkillsClientExtension()]
    async with Client(mcp, extensions=extensions) as client:
        tools = (await client.list_tools()).tools
        assert_type(tools_for_model(tools), list[Tool])
        assert_type(is_callable_by_app(tools[0]), bool)
        uri = ToolUI.of(tools[0]).resource_uri
        assert uri is not None
        app = await read_app(client, uri)
        assert_type(app, AppDocument)
        assert_type(content_security_policy(app.ui.csp), str)


# Tasks of clients


async def ask_a_client(
    ctx: Context,
    raw: ServerRequestContext,
    form: ElicitRequest,
    chat: CreateMessageRequest,
) -> None:
    named = await ask_in_task(ctx, form, ttl=60)
    assert_type(named, ClientTask[ElicitResult])
    assert_type(await named.wait(), ElicitResult)
    assert_type(await named.get(), DetailedTask)
    async with await ask_in_task(raw, chat) as said:
        assert_type(await said.wait(), CreateMessageResult | CreateMessageResultWithTools)


TasksClientExtension(accepts=AcceptedTasks(max_tasks=10, ttl=60))
TasksClientExtension(accepts=None)


# An extension of one's own


class Everything(ClientExtension):
    identifier = "com.example/everything"

    def capabilities(self, declared: ClientCapabilities) -> ClientCapabilities:
        return declared.evolve(experimental={"a": {}})

    def requests(self) -> list[RequestBinding[Any]]:
        return [
            RequestBinding(
                method="com.example/page", params_type=PaginatedRequestParams, handler=self.page
            ),
            RequestBinding(method="com.example/raw", params_type=dict, handler=self.raw),
        ]

    async def page(
        self, context: ClientRequestContext, params: PaginatedRequestParams
    ) -> dict[str, Any]:
        await context.report_progress(1, 2, "half")
        return {"cursor": params.cursor}

    async def raw(self, context: ClientRequestContext, params: dict[str, Any]) -> ElicitResult:
        return ElicitResult(action="decline")

    async def intercept_request(
        self, request: InputRequest, context: ClientRequestContext, call_next: RequestNext
    ) -> RequestAnswer:
        return await call_next(request, context)

    def lifespan(self, session: ClientSession) -> AbstractAsyncContextManager[str]:
        return nullcontext(self.identifier)
