"""The client that the official conformance suite starts, once for each scenario.

::

    python client.py URL

The environment says which scenario it is, which revision the server speaks, and what else the
client has to know. It ends with status 0 if it got through.
"""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import trio

from trio_mcp import Client
from trio_mcp.auth import (
    AuthorizationCodeResult,
    ClientCredentialsOAuthProvider,
    EnterpriseOAuthProvider,
    InMemoryTokenStorage,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthClientProvider,
    PrivateKeyJWTOAuthProvider,
    SignedJWTParameters,
    WorkloadIdentityOAuthProvider,
    static_assertion_provider,
)
from trio_mcp.extensions import SkillsClient, SkillsClientExtension, SkillVerificationError
from trio_mcp.types import (
    LATEST_MODERN_VERSION,
    CreateMessageResult,
    ElicitResult,
    ListRootsResult,
    TextContent,
)

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp.types import CreateMessageRequestParams, ElicitRequestParams

SCENARIO = os.environ["MCP_CONFORMANCE_SCENARIO"]
REVISION = os.environ["MCP_CONFORMANCE_PROTOCOL_VERSION"]
CONTEXT: dict[str, Any] = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT", "{}"))

METADATA_URL = "https://conformance-test.local/client-metadata.json"
REDIRECT_URI = "http://127.0.0.1:8765/callback"


class Person:
    """Follows the authorization request as a browser would, up to the redirect to the client.

    Nothing listens where that leads, so it is read, and not followed.
    """

    def __init__(self) -> None:
        self.redirected_to = ""

    async def open_page(self, url: str) -> None:
        async with httpx.AsyncClient() as browser:
            response = await browser.get(url, follow_redirects=False)
        self.redirected_to = response.headers["location"]

    async def wait_for_redirect(self) -> AuthorizationCodeResult:
        query = {k: v[0] for k, v in parse_qs(urlsplit(self.redirected_to).query).items()}
        return AuthorizationCodeResult(
            code=query["code"], state=query.get("state"), iss=query.get("iss")
        )


async def with_a_person(url: str) -> OAuthClientProvider:
    storage = InMemoryTokenStorage()
    if "client_id" in CONTEXT:
        await storage.for_server(url).set_client_info(
            OAuthClientInformationFull(
                client_id=CONTEXT["client_id"],
                client_secret=CONTEXT.get("client_secret"),
                issuer=CONTEXT.get("issuer"),
                redirect_uris=[REDIRECT_URI],
            )
        )
    person = Person()
    return OAuthClientProvider(
        url,
        OAuthClientMetadata(client_name="trio_mcp conformance", redirect_uris=[REDIRECT_URI]),
        storage,
        redirect_handler=person.open_page,
        callback_handler=person.wait_for_redirect,
        client_metadata_url=METADATA_URL,
        dpop=SCENARIO.startswith("auth/dpop"),
    )


def by_signed_assertion(url: str) -> OAuthClientProvider:
    client_id = CONTEXT["client_id"]
    parameters = SignedJWTParameters(
        issuer=client_id,
        subject=client_id,
        signing_key=CONTEXT["private_key_pem"],
        signing_algorithm=CONTEXT["signing_algorithm"],
    )
    assertion = parameters.create_assertion_provider()
    return PrivateKeyJWTOAuthProvider(url, InMemoryTokenStorage(), client_id, assertion)


def by_secret(url: str) -> OAuthClientProvider:
    return ClientCredentialsOAuthProvider(
        url, InMemoryTokenStorage(), CONTEXT["client_id"], CONTEXT["client_secret"]
    )


async def by_company(url: str) -> OAuthClientProvider:
    return EnterpriseOAuthProvider(
        url,
        InMemoryTokenStorage(),
        CONTEXT["client_id"],
        CONTEXT["client_secret"],
        await issuer_of(url),
        static_assertion_provider(CONTEXT["idp_id_token"]),
        idp_issuer=CONTEXT["idp_issuer"],
        idp_token_endpoint=CONTEXT["idp_token_endpoint"],
        idp_client_id=CONTEXT["idp_client_id"],
    )


async def issuer_of(url: str) -> str:
    """Say which authorization server the application trusts: here, whichever there is."""
    parts = urlsplit(url)
    metadata = f"{parts.scheme}://{parts.netloc}/.well-known/oauth-protected-resource{parts.path}"
    async with httpx.AsyncClient() as http:
        issuer: str = (await http.get(metadata)).json()["authorization_servers"][0]
    return issuer


def by_platform(url: str) -> OAuthClientProvider:
    assertion = static_assertion_provider(CONTEXT["valid_jwt"])
    return WorkloadIdentityOAuthProvider(url, InMemoryTokenStorage(), assertion)


async def provider_for(url: str) -> OAuthClientProvider:
    match SCENARIO:
        case "auth/client-credentials-jwt":
            return by_signed_assertion(url)
        case "auth/client-credentials-basic":
            return by_secret(url)
        case "auth/enterprise-managed-authorization":
            return await by_company(url)
        case "auth/wif-jwt-bearer":
            return by_platform(url)
        case _:
            return await with_a_person(url)


# What the scenarios want done, once the client is there.


async def list_and_call(client: Client) -> None:
    await client.list_tools()
    await client.call_tool("test-tool", {})


async def list_tools(client: Client) -> None:
    await client.list_tools()


async def add_numbers(client: Client) -> None:
    await client.list_tools()
    await client.call_tool("add_numbers", {"a": 5, "b": 3})


async def ask_for_defaults(client: Client) -> None:
    await client.call_tool("test_client_elicitation_defaults", {})


async def come_back(client: Client) -> None:
    await client.call_tool("test_reconnection", {})


async def discover_and_list(client: Client) -> None:
    await client.session.discover()
    await client.list_tools()


async def use_everything(client: Client) -> None:
    for tool in (await client.list_tools()).tools:
        await client.call_tool(tool.name, {})
    for resource in (await client.list_resources()).resources:
        await client.read_resource(resource.uri)
    await client.list_prompts()
    await client.get_prompt("test_prompt", {})


async def call_as_told(client: Client) -> None:
    await client.list_tools()
    for call in CONTEXT["toolCalls"]:
        await client.call_tool(call["name"], call["arguments"])


async def call_what_is_offered(client: Client) -> None:
    examples = {"string": "text", "integer": 1, "number": 1.5, "boolean": True}
    for tool in (await client.list_tools()).tools:
        properties = tool.input_schema.get("properties", {})
        arguments = {name: examples.get(each.get("type")) for name, each in properties.items()}
        await client.call_tool(tool.name, arguments)


async def answer_rounds(client: Client) -> None:
    for name in ("echo_state", "no_state", "unrelated", "no_result_type"):
        await client.call_tool(f"test_mrtr_{name}", {})


async def send_schema_back(client: Client) -> None:
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    schema = tools["json_schema_2020_12_tool"].input_schema
    await client.call_tool("json_schema_echo", {"schema": schema})


async def list_skills(client: Client) -> None:
    async for _skill in SkillsClient(client, server="suite").iter_skills():
        pass


async def load_skills(client: Client) -> None:
    skills = SkillsClient(client, server="suite")
    async for skill in skills.iter_skills():
        try:
            await skills.read_file(skill)
            for uri in skill.files:
                await skills.read_file(skill, uri)
        except SkillVerificationError as refused:
            # Nothing else of the skill is read, or used.
            print("Refused:", refused)


ACTIONS: dict[str, Callable[[Client], Awaitable[None]]] = {
    "initialize": list_tools,
    "tools_call": add_numbers,
    "elicitation-sep1034-client-defaults": ask_for_defaults,
    "sse-retry": come_back,
    "request-metadata": discover_and_list,
    "http-standard-headers": use_everything,
    "http-custom-headers": call_as_told,
    "http-invalid-tool-headers": call_what_is_offered,
    "sep-2322-client-request-state": answer_rounds,
    "json-schema-ref-no-deref": list_tools,
    "json-schema-2020-12-preservation": send_schema_back,
    "sep-2640-client-no-prefetch": list_skills,
    "sep-2640-client-verify-digest": load_skills,
    "sep-2640-client-verify-size": load_skills,
    "sep-2640-client-verify-frontmatter": load_skills,
}


# What the server may ask.


async def fill_in(context: Any, params: ElicitRequestParams) -> ElicitResult:
    """Accept a form: as it is where it has defaults, which are filled in, and else as wanted."""
    asked = getattr(params, "requested_schema", {}).get("properties", {})
    wanted = {name: True for name, each in asked.items() if each.get("type") == "boolean"}
    has_defaults = any("default" in each for each in asked.values())
    return ElicitResult(action="accept", content={} if has_defaults else wanted)


async def speak(context: Any, params: CreateMessageRequestParams) -> CreateMessageResult:
    return CreateMessageResult(
        role="assistant", model="none", content=TextContent(text="Nothing to say.")
    )


async def list_roots(context: Any) -> ListRootsResult:
    return ListRootsResult(roots=[])


async def main(url: str) -> None:
    client = Client(
        url,
        auth=await provider_for(url) if SCENARIO.startswith("auth/") else None,
        # A modern server is found by asking; an older revision has to be named.
        mode="auto" if REVISION == LATEST_MODERN_VERSION else REVISION,
        elicitation_callback=fill_in,
        sampling_callback=speak,
        list_roots_callback=list_roots,
        extensions=[SkillsClientExtension()],
    )
    async with client:
        await ACTIONS.get(SCENARIO, list_and_call)(client)


if __name__ == "__main__":
    trio.run(main, sys.argv[1])
