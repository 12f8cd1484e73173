"""What is written is what the published schema of each revision says."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from trio_mcp import types
from trio_mcp._codec import decode, dumps, encode, loads
from trio_mcp.types import KNOWN_REVISIONS, LATEST_MODERN, WireModel

from ._wire_values import values_of

# Where a definition in the schema is not called as the class is.
CALLED: dict[str, tuple[str, ...]] = {
    "CreateMessageResultWithTools": ("CreateMessageResult",),
    "ElicitCompleteNotification": ("ElicitationCompleteNotification",),
    "ErrorData": ("Error",),
    "JSONRPCError": ("JSONRPCErrorResponse", "JSONRPCError"),
    "JSONRPCResponse": ("JSONRPCResultResponse", "JSONRPCResponse"),
    "ResourceTemplateReference": ("ResourceTemplateReference", "ResourceReference"),
}

# Bases that have no meaning of their own, and `TaskStatusNotificationParams` and its kin, whose
# definitions are an intersection that is tested through the class that uses them.
ABSTRACT = {"BaseMetadata", "Notification", "PaginatedRequest", "Request", "ResourceContents"}

CLASSES = [
    name
    for name in types.__all__
    if isinstance(cls := getattr(types, name), type)
    and issubclass(cls, WireModel)
    and cls is not WireModel
    and name not in ABSTRACT
]


@functools.cache
def schema_of(folder: Path, version: str) -> dict[str, Any]:
    return json.loads((folder / "spec" / "schema" / f"{version}.json").read_bytes())


def definition(schema: dict[str, Any], name: str) -> str | None:
    """Find the definition of a class in a revision's schema."""
    place = "$defs" if "$defs" in schema else "definitions"
    for each in CALLED.get(name, (name,)):
        if each in schema[place]:
            return f"#/{place}/{each}"
    return None


@functools.cache
def validator(folder: Path, version: str, name: str) -> Any:
    schema = schema_of(folder, version)
    reference = definition(schema, name)
    if reference is None:
        return None
    # Every definition that is not reached would be compiled, too, if it stood at the root.
    return jsonschema_rs.validator_for({**schema, "$ref": reference}, validate_formats=False)


def enveloped(cls: type, wire: dict[str, Any]) -> dict[str, Any]:
    """Add what the session adds to a request or notification."""
    if issubclass(cls, types.Request):
        return {"jsonrpc": "2.0", "id": 1, **wire}
    if issubclass(cls, types.Notification):
        return {"jsonrpc": "2.0", **wire}
    return wire


# Their definitions are parts of others, which are tested with them, or are in no schema.
UNDEFINED = {
    "CompletionArgument", "CompletionContext", "Completion", "ElicitationRequiredErrorData",
    "CancelTaskRequestParams", "GetTaskPayloadRequestParams", "GetTaskRequestParams",
    "ElicitCompleteNotificationParams", "MissingRequiredClientCapabilityErrorData",
    "UnsupportedProtocolVersionErrorData",
    *(name for name in CLASSES if name.endswith("Capability")),
}  # fmt: skip


@pytest.mark.req("R-001", "R-539")
@pytest.mark.parametrize("name", [each for each in CLASSES if each not in UNDEFINED])
def test_written_objects_fit_the_schema_of_each_revision(reference_data, name):
    cls = getattr(types, name)
    checked = 0
    for revision in KNOWN_REVISIONS:
        check = validator(reference_data, revision.version, name)
        if check is not None:
            check_written(cls, revision, check)
            checked += 1
    assert checked


def check_written(cls: type, revision: types.Revision, check: Any) -> None:
    @settings(max_examples=5, suppress_health_check=list(HealthCheck))
    @given(values_of(cls, revision), st.booleans())
    def written_objects_fit(value, with_extra):
        if with_extra:
            value = value.evolve(extra={"com.example/extra": [1]})
        wire = complete(encode(value, revision), cls, revision)
        error = next(check.iter_errors(wire), None)
        assert error is None, (str(error), revision, wire)
        again = encode(decode(cls, wire, revision), revision)
        assert loads(dumps(again)) == wire

    written_objects_fit()


def complete(wire: dict[str, Any], cls: type, revision: types.Revision) -> dict[str, Any]:
    """Add the params that the session adds where the program gave none."""
    wire = enveloped(cls, wire)
    needs_meta = issubclass(cls, types.RequestParams) or issubclass(cls, types.Request)
    if revision.is_modern and needs_meta and cls is not types.ListRootsRequest:
        meta = {
            types.PROTOCOL_VERSION_META_KEY: revision.version,
            types.CLIENT_CAPABILITIES_META_KEY: {},
        }
        holder = wire.setdefault("params", {}) if issubclass(cls, types.Request) else wire
        if cls.__name__ not in {"CreateMessageRequest", "ElicitRequest", "CreateMessageRequestParams",
                                "ElicitRequestFormParams", "ElicitRequestURLParams"}:  # fmt: skip
            holder["_meta"] = {**meta, **holder.get("_meta", {})}
    if cls is types.SubscriptionsListenResult:
        wire.setdefault("_meta", {types.SUBSCRIPTION_ID_META_KEY: 1})
    return wire


def example_files() -> list[str]:
    """Name the published examples, for the ids of tests; none without them."""
    import os

    folder = os.environ.get("TRIO_MCP_TEST_DATA")
    if not folder:
        return []
    root = Path(folder) / "spec" / "schema" / "2026-07-28-examples"
    return sorted(str(each.relative_to(root)) for each in root.rglob("*.json"))


@pytest.mark.parametrize("file", example_files() or ["none"])
def test_published_example_is_read_and_written_back(reference_data, file):
    root = reference_data / "spec" / "schema" / "2026-07-28-examples"
    name = file.partition("/")[0]
    example = json.loads((root / file).read_bytes())
    if name.endswith("Schema"):
        # The schema of one field of a form.
        form = {"type": "object", "properties": {"field": example}}
        example = {"message": "m", "mode": "form", "requestedSchema": form}
        cls: Any = types.ElicitRequestFormParams
    elif name.endswith("ResultResponse"):
        message = decode(types.JSONRPCMessage, example, LATEST_MODERN)
        assert encode(message, LATEST_MODERN) == example
        example = message.result
        cls = getattr(types, name.removesuffix("Response"))
    elif name.endswith("Error"):
        if "error" in example:
            message = decode(types.JSONRPCMessage, example, LATEST_MODERN)
            assert isinstance(message, types.JSONRPCError)
            assert encode(message, LATEST_MODERN) == example
            return
        example = {"jsonrpc": "2.0", "error": example}
        cls = types.JSONRPCMessage
    else:
        cls = getattr(types, name)
    if name == "CreateMessageResult" and isinstance(example["content"], list):
        cls = types.CreateMessageResultWithTools
    read = decode(cls, example, LATEST_MODERN)
    if isinstance(read, dict):
        written: Any = {key: encode(each, LATEST_MODERN) for key, each in read.items()}
    else:
        written = encode(read, LATEST_MODERN)
    assert spelled_out(written) == spelled_out(example)


def spelled_out(value: Any) -> Any:
    """Add the members that mean the same when they are absent."""
    if isinstance(value, list):
        return [spelled_out(each) for each in value]
    if not isinstance(value, dict):
        return value
    defaults: dict[str, Any] = {}
    if "content" in value and "resultType" in value:
        defaults = {"isError": False}
    elif "requestedSchema" in value:
        defaults = {"mode": "form"}
    elif "contents" in value:
        # One published example lacks what its schema demands.
        defaults = {"ttlMs": 0, "cacheScope": "private"}
    return {**defaults, **{key: spelled_out(each) for key, each in value.items()}}


def test_every_definition_that_travels_has_a_class(reference_data):
    unknown = {}
    for revision in KNOWN_REVISIONS:
        schema = schema_of(reference_data, revision.version)
        place = schema.get("$defs") or schema["definitions"]
        known = set(types.__all__) | {each for names in CALLED.values() for each in names}
        unknown[revision.version] = set(place) - known
    left = set.union(*unknown.values())
    # Schemas of forms are plain JSON; errors are told apart by their code; the rest are names for
    # JSON itself, for parts of params, or for bases that have no class here.
    assert {each for each in left if not each.endswith(("Schema", "Error", "Response"))} == {
        "Annotated", "Cursor", "Icons", "JSONArray", "JSONObject", "JSONRPCBatchRequest",
        "JSONValue", "MetaObject", "NotificationMetaObject", "PrimitiveSchemaDefinition",
        "RequestMetaObject", "ResourceRequestParams", "ResultMetaObject",
        "SubscriptionsListenResultMetaObject", "TaskAugmentedRequestParams",
    }  # fmt: skip
