"""A function that the model may call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_origin

import attrs

from trio_mcp import types
from trio_mcp._checks import check_callable, is_async_callable
from trio_mcp._codec._check import check_wire
from trio_mcp._codec._converter import encode
from trio_mcp._codec._json import checked_copy
from trio_mcp._codec._schema import SchemaError
from trio_mcp._protocol._header_faults import header_fault
from trio_mcp.errors import (
    InvalidSignature,
    MCPError,
    ResourceError,
    ToolError,
    UnexpectedResourceError,
    UnexpectedToolError,
)
from trio_mcp.types._base import is_object

from ._answers import single_cause
from ._callables import (
    callable_description,
    callable_docstring,
    callable_name,
    refuse_async_generator,
)
from ._context import Context
from ._hints import ReadError, Scope, UnknownName, is_still_running
from ._option_checks import check_tool_options
from ._result_content import ResultError
from ._results import ResultPlan, plan_result
from ._signature import (
    ArgumentsError,
    Signature,
    find_context_parameter,
    read_signature,
    read_signature_for,
)
from ._tool_call import ToolCall
from ._tool_name import warn_about_tool_name

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import trio

    from trio_mcp._codec._schema import Validator
    from trio_mcp.types import Icon, ToolAnnotations
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._resolve import Resolve
    from ._resolver_plan import ResolverPlan


def is_context(hint: Any, /) -> bool:
    """Tell whether a hint asks for the context: `Context`, a subclass, or ``Context[...]``."""
    cls = get_origin(hint) or hint
    return isinstance(cls, type) and issubclass(cls, Context)


@attrs.frozen(eq=False)
class _Options:
    context_kwarg: str | None
    structured_output: bool | None
    input_schema: JsonObject | None
    ignore_unknown: bool


@attrs.frozen(eq=False)
class _Plan:
    """What the hints of a tool came to."""

    signature: Signature
    results: ResultPlan
    resolvers: ResolverPlan | None


@attrs.define(eq=False)
class Tool:
    """A function with its schemas. Made by `Tool.from_function`.

    The hints are read when the tool is made. Only where they name a class that the module, which
    is still being executed, has not defined yet, they are read when the server starts.

    Attributes:
      fn: The function.
      name: What the model calls it.
      title: For people.
      description: For the model.
      is_async: The function is async, and runs in the event loop.
      annotations: Hints on what it does to the world.
      icons: For user interfaces.
      meta: What ``_meta`` says in the list.
      timeout: Seconds that a call may take (`from_function`), or None.
      run_in_thread: A function that is not async runs in a worker thread.
      required_scopes: What a caller over a network has to be allowed.

    """

    fn: Callable[..., Any]
    name: str
    title: str | None
    description: str
    is_async: bool
    annotations: ToolAnnotations | None
    icons: list[Icon] | None
    meta: JsonObject | None
    timeout: float | None
    run_in_thread: bool
    required_scopes: tuple[str, ...] = attrs.field(default=(), kw_only=True)
    _options: _Options = attrs.field(alias="options", repr=False)
    _plan: _Plan | None = attrs.field(default=None, init=False, repr=False)
    _wire: dict[str, types.Tool] = attrs.field(factory=dict[str, Any], init=False, repr=False)
    _json: dict[str, JsonObject] = attrs.field(factory=dict[str, Any], init=False, repr=False)

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        context_kwarg: str | None = None,
        annotations: ToolAnnotations | None = None,
        icons: list[Icon] | None = None,
        meta: JsonObject | None = None,
        structured_output: bool | None = None,
        *,
        timeout: float | None = None,
        run_in_thread: bool = True,
        input_schema: JsonObject | None = None,
        ignore_unknown_arguments: bool = False,
        required_scopes: Sequence[str] = (),
    ) -> Tool:
        """Make a tool of anything that can be called.

        Args:
          fn: A function, method, partial, callable object or class.
          name: What the model calls it; the function's name if not given.
          title: For people.
          description: For the model; the docstring if not given, without the part that describes
            the arguments, which their schemas do.
          context_kwarg: The parameter that gets the `Context`; found by its hint if not given.
          annotations: Hints on what it does to the world.
          icons: For user interfaces.
          meta: What ``_meta`` says in the list.
          structured_output: True to insist on an output schema, False for none; when None
            there is one if the hint of the result has a schema.
          timeout: Seconds that a call may take, with its resolvers. A longer one is cancelled and
            fails. The time stands still while the client is asked something (``ctx.elicit``, a
            resolver's question), whatever its era. Clean-up of resolvers has 5 seconds of its
            own; one that takes longer is cancelled and logged, and the call is answered.
          run_in_thread: False runs a function that is not async in the event loop, which it
            blocks; for libraries that must be called from one thread.
          input_schema: A JSON Schema in place of the one of the hints. Arguments are checked
            against it and passed on by name, unconverted; ``**kwargs`` is allowed.
          ignore_unknown_arguments: Drop arguments that no parameter takes.
          required_scopes: What a caller over a network has to be allowed, beside what the whole
            server takes (`AuthSettings`). Whoever lacks one of them is refused with 403, and told
            all of them; where the server is not protected, that is everybody.

        Raises:
          InvalidSignature: if the function cannot be published; names the parameter, its hint
            and why.
          ValueError: if there is no name, an option has a value that it cannot have, or the
            options contradict each other.
          TypeError: if an argument is of the wrong kind; says which, what was expected and what
            came.

        """
        check_callable("fn", fn)
        check_tool_options(
            name=name,
            context_kwarg=context_kwarg,
            structured_output=structured_output,
            timeout=timeout,
            run_in_thread=run_in_thread,
            ignore_unknown_arguments=ignore_unknown_arguments,
            required_scopes=required_scopes,
            meta=meta,
        )
        tool_name = name or callable_name(fn)
        if tool_name == "<lambda>":
            raise ValueError("A lambda has no name of its own: pass name=")
        refuse_async_generator(fn, tool_name)
        if description is None:
            # Without a schema made from the hints, nothing else tells of the arguments.
            describe = callable_description if input_schema is None else callable_docstring
            description = describe(fn)
        is_async = is_async_callable(fn)
        if timeout is not None and not is_async and not run_in_thread:
            raise ValueError(
                f"{tool_name}: a function in the event loop cannot be stopped by timeout="
            )
        check_wire(
            types.Tool(
                name=tool_name,
                title=title,
                description=description,
                input_schema={},
                annotations=annotations,
                icons=icons,
                meta=meta,
            )
        )
        warn_about_tool_name(tool_name)
        tool = cls(
            fn=fn,
            name=tool_name,
            title=title,
            description=description,
            is_async=is_async,
            annotations=annotations,
            icons=icons,
            meta=meta,
            timeout=timeout,
            run_in_thread=run_in_thread,
            required_scopes=tuple(required_scopes),
            options=_Options(
                context_kwarg, structured_output, input_schema, ignore_unknown_arguments
            ),
        )
        if not tool._is_early():
            tool.complete()
        return tool

    def complete(self) -> None:
        """Read the hints, if that has not been possible yet.

        Raises:
          InvalidSignature: if the function cannot be published.

        """
        self._read()

    @property
    def parameters(self) -> JsonObject:
        """The input schema."""
        return self._read().signature.schema

    @property
    def output_schema(self) -> JsonObject | None:
        """The schema of the structured content, or None if there is none."""
        return self._read().results.output_schema

    @property
    def context_kwarg(self) -> str | None:
        """The parameter that gets the context."""
        if self._plan is not None:
            return self._plan.signature.context_kwarg
        return self._options.context_kwarg or find_context_parameter(self.fn, is_context)

    @property
    def resolved_params(self) -> dict[str, Resolve]:
        """Parameters that resolvers fill in, with the `Resolve` that says so."""
        return {name: each.resolve for name, each in self._read().signature.resolved.items()}

    @property
    def validator(self) -> Validator:
        """What checks the arguments; its plan and the reason for it can be read from it."""
        return self._read().signature.validator

    @property
    def output_validator(self) -> Validator | None:
        """What checks the structured content."""
        return self._read().results.validator

    def to_wire(self, revision: Revision) -> types.Tool:
        """Make the entry of ``tools/list``, the same object each time."""
        made = self._wire.get(revision.version)
        if made is None:
            made = self._wire[revision.version] = types.Tool(
                name=self.name,
                title=self.title,
                description=self.description or None,
                input_schema=self.parameters,
                output_schema=self.output_schema,
                annotations=self.annotations,
                icons=self.icons,
                meta=self.meta,
            )
        return made

    def to_json(self, revision: Revision) -> JsonObject:
        """Make the JSON of `to_wire`, the same object each time; not to be changed."""
        made = self._json.get(revision.version)
        if made is None:
            made = self._json[revision.version] = encode(self.to_wire(revision), revision)
        return made

    async def run(
        self,
        arguments: JsonObject,
        context: Context[Any, Any],
        convert_result: bool = False,
        *,
        limiter: trio.CapacityLimiter | None = None,
    ) -> Any:
        """Call the function.

        Not a checkpoint by itself: it is one where the function is, and always for a function
        in a thread.

        Args:
          arguments: JSON values, as they came.
          context: The request that it is called for.
          convert_result: Return a `CallToolResult` (or the `InputRequiredResult` that the
            function returned) instead of what the function returned.
          limiter: Of worker threads; that of the context if not given.

        Returns:
          What the function returned, or its result; an `InputRequiredResult` if its resolvers
          need answers of the client first.

        Raises:
          MCPError: if the function raised it, or a resolver.
          ToolError: if the arguments do not fit, or the function raised it or a
            `ResourceError`, or took longer than `timeout`. The message begins with
            ``Error executing tool NAME``; what was raised is the cause.
          UnexpectedToolError: if the function raised anything else, whose text is not in the
            message, or returned what does not fit its output schema.

        Cancellation:
          A function in a thread cannot be ended: it is let go, and its slot of the limiter
          stays taken until it returns.

        """
        plan = self._plan or self._read()
        results = plan.results if convert_result else None
        try:
            kwargs = plan.signature.prepare(arguments)
            if plan.resolvers is not None:
                call = ToolCall(self, results, limiter or context.workers.limiter)
                return await call.run_resolved(
                    plan.resolvers, kwargs, plan.signature.context_kwarg, context
                )
            context_kwarg = plan.signature.context_kwarg
            if context_kwarg is not None:
                kwargs = {**kwargs, context_kwarg: context}
            is_plain = self.is_async and self.timeout is None
            if is_plain and results is not None and results.output_schema is not None:
                # What `ToolCall` would do, without its frames: this is the way of most calls.
                return results.convert(await self.fn(**kwargs))
            call = ToolCall(self, results, limiter or context.workers.limiter)
            return await call.run(kwargs, context)
        except MCPError:
            raise
        except ReadError as exc:
            raise failure_of(self.name, exc.reason) from exc.reason
        except Exception as exc:
            # A border: whatever the function raised becomes what its caller can answer.
            raise failure_of(self.name, exc) from exc

    def _is_early(self) -> bool:
        """Tell whether a hint names what the module may still define."""
        try:
            self._plan = self._make_plan()
        except UnknownName:
            return is_still_running(Scope.of_callable(self.fn))
        return False

    def _read(self) -> _Plan:
        if self._plan is None:
            try:
                self._plan = self._make_plan()
            except UnknownName as exc:
                raise InvalidSignature(f"{self.name}: {exc}") from exc
        return self._plan

    def _make_plan(self) -> _Plan:
        options = self._options
        if options.input_schema is None:
            signature = read_signature(
                self.fn,
                is_context=is_context,
                context_kwarg=options.context_kwarg,
                ignore_unknown=options.ignore_unknown,
                name=self.name,
            )
        else:
            signature = read_signature_for(
                _own_schema(options.input_schema, self.name),
                self.fn,
                is_context=is_context,
                context_kwarg=options.context_kwarg,
                name=self.name,
            )
        fault = header_fault(signature.schema)
        if fault is not None:
            raise InvalidSignature(f"{self.name}: {fault}")
        results = plan_result(signature, options.structured_output, is_async=self.is_async)
        try:
            _ = signature.validator, results.validator
        except SchemaError as exc:
            raise InvalidSignature(f"{self.name}: {exc}") from exc
        return _Plan(signature, results, resolvers_of(self.fn, signature))


def failure_of(name: str, raised: Exception) -> Exception:
    """Give what is raised in place of what a tool's function raised, or what is round it."""
    exc = single_cause(raised)
    prefix = f"Error executing tool {name}"
    match exc:
        case MCPError():
            return exc
        case UnexpectedToolError() | UnexpectedResourceError() | ResultError():
            # A defect, though the text is not that of a stranger's exception.
            return UnexpectedToolError(f"{prefix}: {exc}")
        case ToolError() | ResourceError() | ArgumentsError():
            return ToolError(f"{prefix}: {exc}")
        case _:
            return UnexpectedToolError(prefix)


def resolvers_of(fn: Callable[..., Any], signature: Signature) -> ResolverPlan | None:
    """Plan the resolvers of a function; None if it has none.

    Raises:
      InvalidSignature: if they cannot work.
      UnknownName: if a hint of theirs cannot be evaluated.

    """
    if not signature.resolved:
        return None
    from ._resolver_plan import plan_resolvers  # noqa: PLC0415 - loads what servers can ask

    return plan_resolvers(fn, signature, is_context)


def _own_schema(schema: JsonObject, name: str) -> JsonObject:
    try:
        copied: Any = checked_copy(schema, "input_schema")
    except (TypeError, ValueError) as exc:
        raise InvalidSignature(f"{name}: {exc}") from exc
    if not is_object(copied) or copied.get("type") != "object":
        raise InvalidSignature(f'{name}: the root of input_schema must have "type": "object"')
    return copied
