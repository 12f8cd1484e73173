"""Requests for sampling: their arguments, and how they are made, for all that ask for it.

Functions take ``**options: Unpack[SamplingOptions]``, which is all that type checkers need to
know. `spells_out_sampling_options` shows people, and `inspect`, one parameter for each.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

    from ._literals import IncludeContext
    from ._sampling import CreateMessageRequest, ModelPreferences, SamplingMessage, ToolChoice
    from ._tools import Tool

F = TypeVar("F", bound="Callable[..., Any]")


class SamplingOptions(TypedDict, total=False):
    """The optional fields of `CreateMessageRequestParams`; each is None where it is left out."""

    system_prompt: str | None
    include_context: IncludeContext | None
    temperature: float | None
    stop_sequences: list[str] | None
    metadata: dict[str, Any] | None
    model_preferences: ModelPreferences | None
    tools: list[Tool] | None
    tool_choice: ToolChoice | None


def sampling_request(
    messages: list[SamplingMessage], max_tokens: int, options: SamplingOptions
) -> CreateMessageRequest:
    """Make the request of what such a function was given.

    Raises:
      TypeError: if there is no such option.

    """
    from ._sampling import (  # noqa: PLC0415 - most servers never sample
        CreateMessageRequest,
        CreateMessageRequestParams,
    )

    unknown = [repr(name) for name in options if name not in SamplingOptions.__annotations__]
    if unknown:
        raise TypeError(f"a request for sampling has no argument {', '.join(unknown)}")
    return CreateMessageRequest(
        params=CreateMessageRequestParams(messages=messages, max_tokens=max_tokens, **options)
    )


def spells_out_sampling_options(fn: F) -> F:
    """Give a function with ``**options: Unpack[SamplingOptions]`` the signature it comes to."""
    signature = inspect.signature(fn)
    *others, _options = signature.parameters.values()
    options = [
        inspect.Parameter(
            name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=hint.__forward_arg__
        )
        for name, hint in SamplingOptions.__annotations__.items()
    ]
    vars(fn)["__signature__"] = signature.replace(parameters=[*others, *options])
    return fn
