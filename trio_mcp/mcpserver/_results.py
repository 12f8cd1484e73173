"""What a tool returned: into content for the model and structured content for programs.

The hint of the result decides once, at registration, whether there is structured content:

========================================  =====================================================
hint                                      published
========================================  =====================================================
an attrs class, dataclass, TypedDict,     its own schema: the result is that object
NamedTuple, pydantic model, msgspec
struct, annotated class, dict[str, …]
int, str, list[…], a union, an Enum, …    ``{"result": …}``, in every revision
dict[int, …], any keys but ``str``        the same, as in `mcp`
content blocks, Image, Audio, File        nothing: they are for the model alone
none, Any, dict, list, a class without    nothing
a schema
CallToolResult                            nothing; its ``Annotated[CallToolResult, Model]`` is
                                          checked against the schema of Model
========================================  =====================================================

Since 2026-07-28 structured content may be any JSON value. Results that are no objects stay
wrapped there too: whoever reads ``structured_content["result"]`` reads it in every revision,
and a tool has one published form.
"""

from __future__ import annotations

import inspect
import logging
import types
import typing
from collections import abc
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Final,
    Literal,
    NoReturn,
    get_args,
    get_origin,
)

import attrs

from trio_mcp._codec._json import checked_copy
from trio_mcp._codec._schema import compile_validator
from trio_mcp.errors import InvalidSignature
from trio_mcp.types import CallToolResult, InputRequiredResult, TextContent
from trio_mcp.types._base import has_structured_content

from ._hints import HintError, UnknownName, Walker
from ._hints._containers import ARRAYS, ARRAYS_OF_RESULTS, CONTAINERS
from ._hints._errors import show
from ._hints._to_json import is_unread, read_items
from ._result_content import (
    MEDIA,
    ResultError,
    check_made,
    indented,
    is_block,
    to_content,
)

if TYPE_CHECKING:
    from trio_mcp._codec._schema import Validator
    from trio_mcp.types import ContentBlock
    from trio_mcp.types._base import JsonObject, JsonValue

    from ._hints import Shape
    from ._signature import Signature

logger = logging.getLogger(__name__)

# These say nothing of what is in them.
_VAGUE: Final = (Any, object, *CONTAINERS, *ARRAYS_OF_RESULTS)
# Of these, content blocks are sent one by one.
_LISTINGS: Final = (tuple, *ARRAYS, *ARRAYS_OF_RESULTS)
_NEVER_SENT: Final = (abc.AsyncIterable, abc.AsyncIterator, abc.AsyncGenerator)


@attrs.define(eq=False)
class ResultPlan:
    """How the results of one tool are made.

    Attributes:
      output_schema: The published schema, or None without structured content.
      shape: Of the result, or None without structured content.
      wraps: The result is the member ``result`` of the structured content.
      reads_once: There may be iterators in a result, so that it is read only once.

    """

    name: str
    output_schema: JsonObject | None = None
    wraps: bool = False
    shape: Shape | None = None
    reads_once: bool = False
    _validator: Validator | None = attrs.field(default=None, init=False)

    @property
    def validator(self) -> Validator | None:
        """What checks structured content, if there is any."""
        if self._validator is None and self.output_schema is not None:
            self._validator = compile_validator(
                self.output_schema, trusted=True, where=f"the output schema of {self.name}"
            )
        return self._validator

    def convert(self, value: Any) -> CallToolResult | InputRequiredResult:
        """Make the result of a call.

        An `InputRequiredResult` and a `CallToolResult` are passed on as they are, after a check
        that they can be sent and, of the second, of its structured content.

        Raises:
          ResultError: if the value does not fit the published schema, has no JSON form, or is a
            type of the protocol with something else in it than it says.
          OSError: if a file of an `Image`, `Audio` or `File` cannot be read.
          ReadError: if an iterator raised a TypeError or ValueError; any other exception of it
            comes as it is.

        """
        if isinstance(value, CallToolResult):
            return self._checked(value)
        if isinstance(value, InputRequiredResult):
            check_made(value)
            return value
        value = self.read(value)
        if self.shape is None:
            return CallToolResult(content=to_content(value))
        structured: Any = self._structured(value)
        # The text of an object is that of its JSON; of a list, one block for each item.
        content: list[ContentBlock]
        if self.wraps:
            content = to_content(structured["result"] if self.reads_once else value)
        else:
            content = [TextContent(text=indented(structured))]
        return CallToolResult(content=content, structured_content=structured)

    def read(self, value: Any) -> Any:
        """Make a list of what can only be iterated; anything else is returned as it is."""
        as_array = self.shape is not None and "array" in self.shape.types
        return read_items(value) if is_unread(value, as_array=as_array) else value

    def _structured(self, value: Any) -> JsonValue:
        assert self.shape is not None
        write = self.shape.unstructure
        try:
            # A copy: the tool may go on changing its own lists.
            written = checked_copy(value if write is None else write(value), "result")
        except (TypeError, ValueError) as exc:
            raise ResultError(f"the result does not fit the output schema: {exc}") from exc
        structured = {"result": written} if self.wraps else written
        self._check(structured)
        return structured

    def _check(self, structured: Any) -> None:
        validator = self._validator or self.validator
        assert validator is not None
        violation = validator.check(structured)
        if violation is not None:
            raise ResultError(f"the result does not fit the output schema: {violation.message}")

    def _checked(self, result: CallToolResult) -> CallToolResult:
        check_made(result)
        if self.shape is not None and not result.is_error:
            structured = result.structured_content
            if not has_structured_content(result):
                raise ResultError("the result has no structured content, as its schema demands")
            self._check(structured)
        return result


def plan_result(
    signature: Signature, structured_output: bool | None, *, is_async: bool = False
) -> ResultPlan:
    """Decide how results are made, by the hint of the result.

    Args:
      signature: Of the function.
      structured_output: True to insist on structured content, False for none.
      is_async: What the function returns has been awaited.

    Raises:
      InvalidSignature: if structured content was asked for and cannot be, the hint holds
          a `CallToolResult` in a union, or no value of it could be a result.
      UnknownName: if the hint cannot be evaluated.

    """
    return _Planner(signature, structured_output, is_async).plan()


@attrs.define(eq=False)
class _Planner:
    signature: Signature
    structured_output: bool | None
    is_async: bool

    def plan(self) -> ResultPlan:
        hint = self._hint()
        unstructured = ResultPlan(self.signature.name)
        if hint is inspect.Signature.empty:
            return unstructured
        hint = self._data(self._awaited(hint))
        self._refuse_endless(hint)
        if hint is NoReturn or hint is typing.Never:
            return unstructured
        is_result, model = _of_call_tool_result(hint)
        if is_result:
            hint = model
            if hint is None:
                return unstructured
        if self.structured_output is False:
            return unstructured
        insists = self.structured_output is True
        if not insists and (returns_content(hint) or _is_vague(hint)):
            return unstructured
        return self._structured(hint) or unstructured

    def _hint(self) -> Any:
        hint = self.signature.returns
        if hint is inspect.Signature.empty:
            if self.structured_output is True:
                raise InvalidSignature(
                    f"{self.signature.name}: structured output needs a hint of the result"
                )
            return hint
        try:
            return self._evaluated(hint)
        except UnknownName as exc:
            text = f"the result with the hint {exc.hint}"
            raise UnknownName(text, exc.reason, exc.name) from exc

    def _evaluated(self, hint: Any) -> Any:
        if isinstance(hint, (str, typing.ForwardRef)):
            return self.signature.scope.evaluate(hint)
        return hint

    def _awaited(self, hint: Any) -> Any:
        """Take off what awaiting does: a plain function may hand on the coroutine of another."""
        cls = get_origin(hint) or hint
        if not _is_class(cls, abc.Awaitable):
            return hint
        if self.is_async:
            raise self._refused(hint, "an async function returns what its caller has awaited")
        given = get_args(hint)
        return self._evaluated(given[-1]) if given else Any

    def _refuse_endless(self, hint: Any) -> None:
        for each in get_args(hint) if _is_union(hint) else (hint,):
            if (get_origin(each) or each) in _NEVER_SENT:
                raise self._refused(each, "a result is sent as a whole; return a list")

    def _refused(self, hint: Any, reason: str) -> InvalidSignature:
        return InvalidSignature(
            f"{self.signature.name}: the result with the hint {show(hint)}: {reason}"
        )

    def _data(self, hint: Any) -> Any:
        """Take out of a union what is no data: a question to the client instead of a result."""
        if not _is_union(hint):
            return NoReturn if _is_class(hint, InputRequiredResult) else hint
        arms = [self._evaluated(each) for each in get_args(hint)]
        data = [each for each in arms if not _is_class(each, InputRequiredResult)]
        if len(data) > 1 and any(_of_call_tool_result(each)[0] for each in data):
            raise InvalidSignature(
                f"{self.signature.name}: CallToolResult cannot be one of several results; "
                "for an empty one return CallToolResult(content=[])"
            )
        if not data:
            return NoReturn
        return data[0] if len(data) == 1 else typing.Union[tuple(data)]  # noqa: UP007

    def _structured(self, hint: Any) -> ResultPlan | None:
        walker = Walker(self.signature.scope, is_result=True)
        try:
            shape = walker.shape(hint)
        except UnknownName:
            raise
        except HintError as exc:
            if self.structured_output is True:
                raise InvalidSignature(
                    f"{self.signature.name}: structured output of {exc}"
                ) from exc
            logger.info("%s has no structured output: %s", self.signature.name, exc)
            return None
        schema, wraps = self._schema(hint, shape, walker)
        return ResultPlan(
            self.signature.name, schema, wraps, shape, reads_once=walker.holds_iterators
        )

    def _schema(self, hint: Any, shape: Shape, walker: Walker) -> tuple[JsonObject, bool]:
        name = self.signature.title
        if shape.takes_only("object") and not self._has_other_keys(hint):
            schema = walker.document(shape.schema)
            if "title" not in schema:
                schema = {**schema, "title": f"{name}DictOutput"}
            return schema, False
        wrapped: JsonObject = {
            "type": "object",
            "title": f"{name}Output",
            "properties": {"result": shape.schema},
            "required": ["result"],
        }
        return walker.document(wrapped), True

    def _has_other_keys(self, hint: Any) -> bool:
        """Tell whether a hint is of a mapping whose keys become strings in JSON alone."""
        hint = _without_metadata(hint)
        origin = get_origin(hint)
        if not _is_class(origin, abc.Mapping) or typing.is_typeddict(origin):
            return False
        given = get_args(hint)
        return bool(given) and self._evaluated(given[0]) is not str


def _without_metadata(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint


def returns_content(hint: Any) -> bool:
    """Tell whether a hint is of content blocks or media, alone or in a list or union."""
    origin = get_origin(hint)
    if origin is None:
        return isinstance(hint, type) and (is_block(hint) or issubclass(hint, MEDIA))
    if origin is Annotated:
        return returns_content(get_args(hint)[0])
    if _is_union(hint) or origin in _LISTINGS:
        return any(returns_content(each) for each in get_args(hint))
    return False


def _of_call_tool_result(hint: Any) -> tuple[Literal[True], Any] | tuple[Literal[False], None]:
    """Tell whether a hint is ``CallToolResult``, and which model its metadata names."""
    if get_origin(hint) is Annotated:
        inner, model, *rest = get_args(hint)
        if not _is_class(inner, CallToolResult):
            return False, None
        return True, Annotated[(model, *rest)] if rest else model
    return (True, None) if _is_class(hint, CallToolResult) else (False, None)


def _is_vague(hint: Any) -> bool:
    return any(hint is each for each in _VAGUE)


def _is_class(hint: Any, cls: type) -> bool:
    return isinstance(hint, type) and issubclass(hint, cls)


def _is_union(hint: Any) -> bool:
    return get_origin(hint) in (typing.Union, types.UnionType)
