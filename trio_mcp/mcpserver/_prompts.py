"""Prompts: texts that a function makes of a few arguments."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import attrs
import trio

from trio_mcp._checks import check_scope_names
from trio_mcp._codec import check_wire
from trio_mcp.errors import MCPError
from trio_mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    InputRequiredResult,
    PromptArgument,
)
from trio_mcp.types import Prompt as WirePrompt

from ._callables import callable_description
from ._prompt_messages import messages_of
from ._result_content import reads_files
from ._signature import ArgumentsError
from ._text_arguments import TextFunction, name_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.types import Icon

    from ._context import Context
    from ._prompt_messages import Message


@attrs.define(kw_only=True, eq=False)
class Prompt:
    """A function that makes messages. Usually made by ``@mcp.prompt()``.

    Attributes:
      name: For programs.
      title: For people.
      description: What it is good for.
      fn: Takes the arguments, and returns messages in any form that `MCPServer.prompt` names.
      icons: For user interfaces.
      context_kwarg: The parameter that gets the context; found by its hint if not given.
      required_scopes: What a caller over a network has to be allowed.

    """

    name: str
    title: str | None = None
    description: str | None = None
    _arguments: list[PromptArgument] | None = None
    fn: Callable[..., Any]
    icons: list[Icon] | None = None
    context_kwarg: str | None = None
    required_scopes: Sequence[str] = ()
    _function: TextFunction = attrs.field(init=False, repr=False)

    def __attrs_post_init__(self) -> None:
        check_wire(self._entry(self._arguments))
        check_scope_names("required_scopes", self.required_scopes)
        self._function = TextFunction(self.fn, self.name, self.context_kwarg)
        self.context_kwarg = self._function.context_kwarg

    @classmethod
    def from_function(
        cls,
        fn: Callable[..., Any],
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
        context_kwarg: str | None = None,
        required_scopes: Sequence[str] = (),
    ) -> Prompt:
        """Make a prompt of a function.

        Args:
          fn: Takes the prompt's arguments, which clients send as text, and returns messages in
            any form that `MCPServer.prompt` names.
          name: For programs; the function's name if it is not given.
          title: For people.
          description: What it is good for; the docstring if it is not given, without the part
            that describes the arguments.
          icons: For user interfaces.
          context_kwarg: The parameter that gets the context; found by its hint if not given.
          required_scopes: What a caller over a network has to be allowed.

        Raises:
          InvalidSignature: if a hint has no schema; it names the parameter.

        """
        return cls(
            name=name_of(fn, name),
            title=title,
            description=callable_description(fn) if description is None else description,
            fn=fn,
            icons=icons,
            context_kwarg=context_kwarg,
            required_scopes=required_scopes,
        )

    def complete(self) -> None:
        """Read the hints, if that has not been possible yet.

        Raises:
          InvalidSignature: if the function cannot be published.

        """
        self.context_kwarg = self._function.signature.context_kwarg

    @property
    def arguments(self) -> list[PromptArgument]:
        """What clients fill in: what was given, or the function's parameters."""
        if self._arguments is not None:
            return self._arguments
        return [
            PromptArgument(
                name=each.wire,
                description=each.shape.schema.get("description"),
                required=each.required,
            )
            for each in self._function.signature.parameters
        ]

    async def render(
        self, arguments: dict[str, Any] | None, context: Context[Any, Any]
    ) -> list[Message] | InputRequiredResult:
        """Make the messages.

        Args:
          arguments: A string for each argument.
          context: The request that it is rendered for.

        Returns:
          The messages, or the request for input that the function returned.

        Raises:
          MCPError: -32602 if an argument is missing, unknown, no string, or no value of its
            parameter; the message names it.

        """
        texts = arguments or {}
        for name, value in texts.items():
            if not isinstance(value, str):
                raise self._misfit(f"the argument {name!r} must be a string, got {value!r:.80}")
        try:
            result = await self._function.call(texts, context, self._unanswered)
        except ArgumentsError as misfit:
            raise self._misfit(str(misfit)) from misfit
        if isinstance(result, InputRequiredResult):
            return result
        if reads_files(result):
            return await trio.to_thread.run_sync(
                functools.partial(messages_of, result),
                abandon_on_cancel=True,
                limiter=context.workers.limiter,
            )
        return messages_of(result)

    def _misfit(self, why: str) -> MCPError:
        return MCPError(INVALID_PARAMS, f"Invalid arguments for prompt {self.name}: {why}")

    def _unanswered(self, why: str) -> MCPError:
        return MCPError(INTERNAL_ERROR, f"Error rendering prompt {self.name}: {why}")

    def to_wire(self) -> WirePrompt:
        """Make the entry of ``prompts/list``."""
        return self._entry(self.arguments)

    def _entry(self, arguments: list[PromptArgument] | None) -> WirePrompt:
        return WirePrompt(
            name=self.name,
            title=self.title,
            description=self.description or None,
            arguments=arguments,
            icons=self.icons,
        )
