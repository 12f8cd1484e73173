"""The server that the official conformance suite asks.

::

    python server.py --port 8000

It has one of everything, by the names that the suite asks for.
"""

from __future__ import annotations

import argparse
import base64
import json
from pathlib import Path
from typing import Annotated, Any

import attrs
import trio
from _tasks import add_tasks, tasks

from trio_mcp import Context, Elicit, Image, MCPServer, Resolve, Sample, ToolError, UserMessage
from trio_mcp.extensions import SkillsExtension
from trio_mcp.mcpserver import Audio, ElicitationResult
from trio_mcp.transports import InMemoryEventStore
from trio_mcp.types import (
    Completion,
    CompletionArgument,
    CompletionContext,
    CreateMessageRequest,
    CreateMessageRequestParams,
    CreateMessageResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    EmbeddedResource,
    ImageContent,
    InputRequiredResult,
    ListRootsRequest,
    ListRootsResult,
    PromptReference,
    ResourceTemplateReference,
    SamplingMessage,
    TextContent,
    TextResourceContents,
)

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGBgAAAABQABpfZFQAAAAABJRU5ErkJggg=="
)
WAV = b"RIFF\x24\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x40\x1f\0\0\1\0\x08\0data\0\0\0\0"

SKILLS = Path(__file__).parent / "skills"

mcp = MCPServer(
    "trio_mcp conformance",
    version="1.0.0",
    log_level="WARNING",
    # The suite can ask for skills at older revisions, too (--force).
    extensions=[SkillsExtension(SKILLS, older_revisions=True), tasks],
)


# Tools that just answer. The first one has to take a call without arguments.


@mcp.tool()
def test_simple_text() -> str:
    """Return a text."""
    return "This is a simple text response for testing."


@mcp.tool()
def test_image_content() -> Image:
    """Return an image."""
    return Image(data=PNG, format="png")


@mcp.tool()
def test_audio_content() -> Audio:
    """Return a sound."""
    return Audio(data=WAV, format="wav")


def embedded(uri: str, mime_type: str, text: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type=mime_type, text=text)
    return EmbeddedResource(resource=contents)


@mcp.tool()
def test_embedded_resource() -> EmbeddedResource:
    """Return a resource with its contents."""
    return embedded("test://embedded-resource", "text/plain", "This is an embedded resource.")


@mcp.tool()
def test_multiple_content_types() -> list[str | Image | EmbeddedResource]:
    """Return content of several kinds."""
    resource = embedded("test://mixed-content-resource", "application/json", '{"test": 1}')
    return ["Several kinds of content:", Image(data=PNG, format="png"), resource]


@mcp.tool()
async def test_tool_with_logging(ctx: Context) -> str:
    """Log three messages on the way."""
    for step in ("started", "processing", "completed"):
        await ctx.info(f"Tool execution {step}")
        await trio.sleep(0.05)
    return "Logged three times"


@mcp.tool()
def test_error_handling() -> str:
    """Fail."""
    raise ToolError("This tool intentionally returns an error for testing")


@mcp.tool()
async def test_tool_with_progress(ctx: Context) -> str:
    """Report progress three times."""
    for progress in (0, 50, 100):
        await ctx.report_progress(progress, 100, f"Completed step {progress} of 100")
        await trio.sleep(0.05)
    return "Reported progress"


@mcp.tool()
def echo_region(
    region: Annotated[str, {"x-mcp-header": "Region"}] = "",
) -> str:
    """Take an argument that clients repeat in a header."""
    return f"in {region}"


@mcp.tool()
async def test_logging_tool(ctx: Context) -> str:
    """Log a message, for those who want to hear it."""
    await ctx.info("Logged by the tool")
    return "Logged"


@mcp.tool()
async def test_trigger_tool_change(ctx: Context) -> str:
    """Tell that there are other tools."""
    await ctx.notify_tools_changed()
    return "Told"


@mcp.tool()
async def test_trigger_prompt_change(ctx: Context) -> str:
    """Tell that there are other prompts."""
    await ctx.notify_prompts_changed()
    return "Told"


@mcp.tool()
async def test_reconnection(ctx: Context) -> str:
    """Have the client come back for the answer."""
    await ctx.close_sse_stream()
    await trio.sleep(0.1)
    return "The answer came on another stream"


# Schemas. What an author writes in place of the hints' schema is published as it is.

ADDRESS_BOOK_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


@mcp.tool(input_schema=ADDRESS_BOOK_SCHEMA)
def json_schema_2020_12_tool(
    name: str = "",
    address: Any = None,
    contactMethod: str = "",  # noqa: N803 - the suite names it
    phone: str = "",
    email: str = "",
) -> str:
    """Take what a schema with all keywords describes."""
    return f"{name} {address} {contactMethod} {phone} {email}"


# Tools that ask. Resolvers ask clients of both eras.


def ask_model(prompt: str) -> Sample:
    message = SamplingMessage(role="user", content=TextContent(text=prompt))
    return Sample([message], max_tokens=100)


@mcp.tool()
def test_sampling(prompt: str, said: Annotated[CreateMessageResult, Resolve(ask_model)]) -> str:
    """Ask the client's model."""
    return f"LLM response: {said.content.text if isinstance(said.content, TextContent) else said}"


@attrs.frozen
class User:
    username: str
    email: str


def ask_user(message: str) -> Elicit[User]:
    return Elicit(message, User)


@mcp.tool()
def test_elicitation(
    message: str, user: Annotated[ElicitationResult[User], Resolve(ask_user)]
) -> str:
    """Ask the user."""
    return f"User response: {user}"


# Forms that the suite describes word for word are asked for by their schema.

DEFAULTS_FORM = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": {"type": "boolean", "default": True},
    },
}

OPTIONS = [f"option{i}" for i in (1, 2, 3)]
TITLED = [{"const": f"value{i}", "title": f"Option {i}"} for i in (1, 2, 3)]

ENUMS_FORM = {
    "type": "object",
    "properties": {
        "untitledSingle": {"type": "string", "enum": OPTIONS},
        "titledSingle": {"type": "string", "oneOf": TITLED},
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": OPTIONS}},
        "titledMulti": {"type": "array", "items": {"anyOf": TITLED}},
    },
}


@mcp.tool()
async def test_elicitation_sep1034_defaults(ctx: Context) -> str:
    """Ask by a form with defaults."""
    answer = await ctx.session.elicit_form("Please review your data", DEFAULTS_FORM)
    return f"Elicitation completed: {answer.action} {answer.content}"


@mcp.tool()
async def test_elicitation_sep1330_enums(ctx: Context) -> str:
    """Ask by a form with choices of all kinds."""
    answer = await ctx.session.elicit_form("Please choose", ENUMS_FORM)
    return f"Elicitation completed: {answer.action} {answer.content}"


# Tools that need another round: clients of 2026-07-28 call again with what was asked for.


def form(message: str, **properties: str) -> ElicitRequest:
    schema = {
        "type": "object",
        "properties": {name: {"type": kind} for name, kind in properties.items()},
        "required": list(properties),
    }
    return ElicitRequest(params=ElicitRequestFormParams(message=message, requested_schema=schema))


def question(text: str) -> CreateMessageRequest:
    message = SamplingMessage(role="user", content=TextContent(text=text))
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=[message], max_tokens=100)
    )


def filled_in(ctx: Context, key: str) -> dict[str, Any] | None:
    """Give what the user filled in, if that is what came."""
    answer = (ctx.input_responses or {}).get(key)
    if isinstance(answer, ElicitResult) and answer.action == "accept":
        return answer.content
    return None


@mcp.tool()
def test_input_required_result_elicitation(ctx: Context) -> str | InputRequiredResult:
    """Ask for a name."""
    answer = filled_in(ctx, "user_name")
    if answer is None:
        asked = form("What is your name?", name="string")
        return InputRequiredResult(input_requests={"user_name": asked})
    return f"Hello, {answer['name']}!"


@mcp.tool()
def test_input_required_result_sampling(ctx: Context) -> str | InputRequiredResult:
    """Ask the client's model."""
    answer = (ctx.input_responses or {}).get("capital_question")
    if not isinstance(answer, CreateMessageResult):
        asked = question("What is the capital of France?")
        return InputRequiredResult(input_requests={"capital_question": asked})
    return f"The model says: {answer.content}"


@mcp.tool()
def test_input_required_result_list_roots(ctx: Context) -> str | InputRequiredResult:
    """Ask for the client's roots."""
    answer = (ctx.input_responses or {}).get("client_roots")
    if not isinstance(answer, ListRootsResult):
        return InputRequiredResult(input_requests={"client_roots": ListRootsRequest()})
    return f"{len(answer.roots)} roots"


@mcp.tool()
def test_input_required_result_request_state(ctx: Context) -> str | InputRequiredResult:
    """Keep a state between the rounds."""
    if ctx.request_state is None:
        asked = form("Go on?", ok="boolean")
        return InputRequiredResult(input_requests={"confirm": asked}, request_state="round 1")
    return "state-ok" if ctx.request_state == "round 1" else "another state"


@mcp.tool()
def test_input_required_result_multiple_inputs(ctx: Context) -> str | InputRequiredResult:
    """Ask for everything at once."""
    asked = {
        "user_name": form("What is your name?", name="string"),
        "greeting": question("Say hello"),
        "client_roots": ListRootsRequest(),
    }
    if ctx.request_state is None:
        return InputRequiredResult(input_requests=asked, request_state="asked for three")
    return f"Got {sorted(ctx.input_responses or {})}"


@mcp.tool()
def test_input_required_result_multi_round(ctx: Context) -> str | InputRequiredResult:
    """Ask twice, one after the other."""
    if ctx.request_state is None:
        asked = form("What is your name?", name="string")
        return InputRequiredResult(input_requests={"name": asked}, request_state="{}")
    known = json.loads(ctx.request_state)
    if "name" not in known:
        known["name"] = (filled_in(ctx, "name") or {}).get("name")
        asked = form("What is your favourite colour?", color="string")
        return InputRequiredResult(
            input_requests={"color": asked}, request_state=json.dumps(known)
        )
    return f"{known['name']} likes {(filled_in(ctx, 'color') or {}).get('color')}"


@mcp.tool()
def test_input_required_result_tampered_state(ctx: Context) -> str | InputRequiredResult:
    """Keep a state that nobody may change; a changed one never gets here."""
    if ctx.request_state is None:
        asked = form("Go on?", ok="boolean")
        return InputRequiredResult(input_requests={"confirm": asked}, request_state="sealed")
    return "The state is as it was"


@mcp.tool()
def test_input_required_result_capabilities(ctx: Context) -> str | InputRequiredResult:
    """Ask for what the client can do, and for nothing else."""
    if ctx.input_responses:
        return f"Got {sorted(ctx.input_responses)}"
    can = ctx.client_capabilities
    asked = {}
    if can is not None and can.sampling is not None:
        asked["greeting"] = question("Say hello")
    if can is not None and can.elicitation is not None:
        asked["user_name"] = form("What is your name?", name="string")
    return InputRequiredResult(input_requests=asked) if asked else "Nothing can be asked"


@mcp.tool()
def test_missing_capability(
    said: Annotated[CreateMessageResult, Resolve(lambda: ask_model("Hello"))],
) -> str:
    """Need a client with a model."""
    return f"The model says: {said.content}"


@mcp.tool()
def test_streaming_elicitation(
    user: Annotated[ElicitationResult[User], Resolve(lambda: ask_user("Who are you?"))],
) -> str:
    """Ask the user, by whichever way the client knows."""
    return f"User response: {user}"


add_tasks(mcp)


# Resources


@mcp.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    """Give a text."""
    return "This is the content of the static text resource."


@mcp.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    """Give an image."""
    return PNG


@mcp.resource("test://watched-resource", mime_type="text/plain")
def watched_resource() -> str:
    """Give what clients watch."""
    return "Watched resource content"


@mcp.resource("test://template/{id}/data", mime_type="application/json")
def template_data(id: str) -> str:
    """Give the data of one of many."""
    return json.dumps({"id": id, "templateTest": True, "data": f"Data for ID: {id}"})


# Prompts and completion


@mcp.prompt()
def test_simple_prompt() -> str:
    """Be a prompt without arguments."""
    return "This is a simple prompt for testing."


@mcp.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str) -> str:
    """Use two arguments."""
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@mcp.prompt()
def test_prompt_with_embedded_resource(resourceUri: str) -> list[UserMessage]:  # noqa: N803
    """Put a resource into the talk."""
    return [
        UserMessage(embedded(resourceUri, "text/plain", "Embedded resource content.")),
        UserMessage("Please process the embedded resource above."),
    ]


@mcp.prompt()
def test_prompt_with_image() -> list[UserMessage]:
    """Put an image into the talk."""
    image = ImageContent(data=base64.b64encode(PNG).decode(), mime_type="image/png")
    return [UserMessage(image), UserMessage("Please analyze the image above.")]


@mcp.prompt()
def test_input_required_result_prompt(ctx: Context) -> str | InputRequiredResult:
    """Ask before there is a prompt."""
    answer = filled_in(ctx, "user_context")
    if answer is None:
        asked = form("What is it about?", context="string")
        return InputRequiredResult(input_requests={"user_context": asked})
    return f"Use this context: {answer['context']}"


@mcp.completion()
def complete(
    ref: PromptReference | ResourceTemplateReference,
    argument: CompletionArgument,
    context: CompletionContext | None,
) -> Completion:
    values = [f"{argument.value}{ending}" for ending in ("1", "2")]
    return Completion(values=values, total=len(values), has_more=False)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=8000)
    port = parser.parse_args().port
    mcp.run(
        "streamable-http",
        port=port,
        event_store=InMemoryEventStore(),
        # Clients come back soon for what is sent on another stream.
        retry_interval=500,
    )


if __name__ == "__main__":
    main()
