"""The prompts of an `MCPServer`."""

from __future__ import annotations

from operator import methodcaller
from typing import TYPE_CHECKING, Any, overload

import trio

from trio_mcp import types
from trio_mcp._checks import check_kind, check_text
from trio_mcp._codec import excerpt
from trio_mcp.errors import MCPError
from trio_mcp.server import PromptsListChanged
from trio_mcp.types import INVALID_PARAMS
from trio_mcp.types._base import is_input_required

from ._answers import is_answer, prompt_failure
from ._registry import Registry
from ._serving_base import CallableT, ServingBase
from ._settings import LifespanResultT

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from trio_mcp.server import ServerRequestContext
    from trio_mcp.types import Icon, InputRequiredResult

    from ._context import Context
    from ._prompts import Prompt


class ServesPrompts(ServingBase[LifespanResultT]):
    """Texts with gaps, for people to choose from."""

    def _open_prompts(self) -> None:
        settings = self.settings
        self._prompts: Registry[Prompt] = Registry(
            "Prompt",
            on_duplicate=settings.duplicate_policy(warn=settings.warn_on_duplicate_prompts),
            changed=self._prompts_changed,
        )
        self._serve("prompts/list", "PaginatedRequestParams", self._handle_list_prompts)
        self._serve("prompts/get", "GetPromptRequestParams", self._handle_get_prompt)

    def _prompts_changed(self) -> None:
        self._announce(PromptsListChanged())

    # Registering

    def add_prompt(self, prompt: Prompt) -> None:
        """Publish a prompt.

        A second one of the same name is not added, and logged (``warn_on_duplicate_prompts``,
        ``on_duplicate``).

        Raises:
          InvalidSignature: if the server runs, and a hint names what nothing defines.

        """
        from ._prompts import Prompt  # noqa: PLC0415 - loads on first use

        check_kind("prompt", prompt, Prompt, "a Prompt (@mcp.prompt() is for functions)")
        self._complete_if_running(prompt)
        self._prompts.add(prompt.name, prompt)
        self._require(prompt.required_scopes)
        self._allow_logging(prompt.context_kwarg)

    def remove_prompt(self, name: str) -> None:
        """Withdraw a prompt.

        Raises:
          ValueError: if there is no such prompt.

        """
        if not self._prompts.remove(name):
            raise ValueError(f"Unknown prompt: {name}")

    @overload
    def prompt(self, name: CallableT) -> CallableT: ...

    @overload
    def prompt(
        self,
        name: str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
        *,
        required_scopes: Sequence[str] = (),
    ) -> Callable[[CallableT], CallableT]: ...

    def prompt(
        self,
        name: CallableT | str | None = None,
        title: str | None = None,
        description: str | None = None,
        icons: list[Icon] | None = None,
        *,
        required_scopes: Sequence[str] = (),
    ) -> CallableT | Callable[[CallableT], CallableT]:
        """Publish the decorated function as a prompt.

        It returns the messages: a string (said by the user), a `UserMessage` or
        `AssistantMessage`, a content block, an `Image` or `Audio`, a dict like
        ``{"role": "user", "content": "…"}``, or a list of these.

        Args:
          name: The prompt's name; the function's if it is not given.
          title: For people.
          description: What it is good for; the docstring's text if it is not given.
          icons: For user interfaces.
          required_scopes: What a caller over a network has to be allowed; as for tools.

        Raises:
          InvalidSignature: if a hint has no schema; it names the parameter.

        """
        if name is not None and not callable(name):
            check_text("name", name)
        from ._prompts import Prompt  # noqa: PLC0415 - loads on first use

        if callable(name):
            self.add_prompt(Prompt.from_function(name))
            return name

        def decorate(fn: CallableT) -> CallableT:
            scopes = required_scopes
            self.add_prompt(
                Prompt.from_function(fn, name, title, description, icons, required_scopes=scopes)
            )
            return fn

        return decorate

    # Using

    async def list_prompts(self) -> list[types.Prompt]:
        """List the prompts, in the order in which they were added."""
        await trio.lowlevel.checkpoint()
        return [prompt.to_wire() for prompt in self._prompts.items()]

    async def get_prompt(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        context: Context[Any, Any] | None = None,
    ) -> types.GetPromptResult | InputRequiredResult:
        """Render a prompt from within this process.

        Args:
          name: The prompt's name.
          arguments: A string for each argument.
          context: The request that it is rendered for, if there is one.

        Raises:
          MCPError: -32602 if there is no such prompt, or an argument is missing, unknown, no
            string or no value of its parameter; -32603 if its function raised anything.

        """
        await trio.lowlevel.checkpoint()
        return await self._get_prompt(name, arguments, context or self._context())

    async def _get_prompt(
        self, name: str, arguments: dict[str, Any] | None, context: Context[Any, Any]
    ) -> types.GetPromptResult | InputRequiredResult:
        prompt = self._prompts.get(name)
        if prompt is None:
            raise MCPError(INVALID_PARAMS, f"Unknown prompt: {excerpt(name)}")
        try:
            messages = await prompt.render(arguments, context)
        except Exception as exc:
            if is_answer(exc):
                raise
            raise prompt_failure(name, exc, context) from exc
        if is_input_required(messages):
            return messages
        return types.GetPromptResult(
            description=prompt.description, messages=[each.to_wire() for each in messages]
        )

    # Handlers

    async def _handle_list_prompts(
        self, _ctx: ServerRequestContext[Any, Any], params: types.PaginatedRequestParams
    ) -> types.ListPromptsResult:
        listing = self._prompts.listing("wire", methodcaller("to_wire"))
        page, next_cursor = listing.page(params.cursor, self._list_page_size)
        return types.ListPromptsResult(prompts=page, next_cursor=next_cursor)

    async def _handle_get_prompt(
        self, ctx: ServerRequestContext[Any, Any], params: types.GetPromptRequestParams
    ) -> types.GetPromptResult | InputRequiredResult:
        return await self._get_prompt(params.name, params.arguments, self._context(ctx, params))
