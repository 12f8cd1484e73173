"""The options of ``trio-mcp run``: one for each that serving has, by the name it has there."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar

import typer

from trio_mcp._variables import FLAG, Option, options_of
from trio_mcp.cli._mistakes import UsageMistake
from trio_mcp.transports.http._options import URL_PATH, HttpOptions, TransportSecuritySettings
from trio_mcp.transports.http._serve_options import ServeOptions, WorkerOptions
from trio_mcp.transports.websocket._options import WebSocketOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import attrs

T = TypeVar("T")

PATHS: Final = {
    "streamable-http": "streamable_http_path",
    "sse": "sse_path",
    "websocket": "websocket_path",
}
"""What ``--path`` sets, by the transport."""

_PANELS: Final[Mapping[str, type[attrs.AttrsInstance]]] = {
    "Where it listens, and what it grants each client": ServeOptions,
    "By how many processes (streamable-http)": WorkerOptions,
    "How requests are answered": HttpOptions,
    "How WebSockets are kept": WebSocketOptions,
    "From where it may be called": TransportSecuritySettings,
}

_PATH_TEXTS: Final[Mapping[type[attrs.AttrsInstance], Mapping[str, str]]] = {
    HttpOptions: {
        "path": "Of the endpoint.",
        "message_path": "Where clients of HTTP with SSE post.",
    }
}

_LEFT_OUT: Final = {"keyfile_password", "websocket_path"}
# Others can read a command line, and no environment: there is MCP_KEYFILE_PASSWORD. The path is
# ``--path``.

_OPTIONS: Final[Mapping[str, Option]] = {
    name: option for cls in _PANELS.values() for name, option in options_of(cls).items()
}

_NAMED: Final = re.compile(rf"\b({'|'.join(_OPTIONS)})\b(?:=True)?")

_ATTRIBUTE: Final = re.compile(r"^  (\w+): (.*(?:\n {4,}\S.*)*)", re.MULTILINE)


def takes_run_options(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command these options; it gets the texts of those that were given in a dict."""
    own = inspect.signature(command, eval_str=True).parameters
    *words, _given = own.values()
    parameters = [*words, *_parameters()]

    def run(**told: Any) -> T:
        given = {name: told.pop(name) for name in [*told] if name not in own}
        given = {name: value for name, value in given.items() if value is not None}
        return command(**told, given=given)

    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in parameters]
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    return run


def read_given(given: Mapping[str, str | bool]) -> dict[str, Any]:
    """Read the texts of options as their values.

    Raises:
      UsageMistake: if one cannot be read; names the option.

    """
    values: dict[str, Any] = {}
    for name, text in given.items():
        kind = _OPTIONS[name].kind if name in _OPTIONS else URL_PATH
        try:
            values[name] = text if isinstance(text, bool) else kind.value_of(flag_of(name), text)
        except (TypeError, ValueError) as exc:
            raise UsageMistake(str(exc)) from exc
    return values


def flag_of(name: str) -> str:
    """Write the name of an option as the command line does."""
    return f"--{name.replace('_', '-')}"


def in_flags(message: str) -> str:
    """Have a message of one option that needs another name both as the command line does."""
    return _NAMED.sub(lambda found: flag_of(found[1]), message)


def security_of(values: dict[str, Any]) -> TransportSecuritySettings | None:
    """Take out from where a server may be called; None if nothing is said of that."""
    names = options_of(TransportSecuritySettings)
    told = {name: values.pop(name) for name in names if name in values}
    return TransportSecuritySettings(**told) if told else None


def _parameters() -> list[inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}  # some are of two classes
    for panel, cls in _PANELS.items():
        texts = _help_of(cls)
        for name, option in options_of(cls).items():
            if name not in _LEFT_OUT:
                found.setdefault(name, _parameter(option, panel, texts[name]))
        for name, text in _PATH_TEXTS.get(cls, {}).items():
            found[name] = _parameter(Option(name, URL_PATH, None), panel, text)
    return [*found.values()]


def _parameter(option: Option, panel: str, text: str) -> inspect.Parameter:
    name, kind = option.name, option.kind
    hint: Any = str | None
    flag = flag_of(name)
    metavar: str | None = name.rpartition("_")[2].upper()
    if kind is FLAG:
        hint, metavar = bool | None, None
        flag = f"{flag}/{flag_of(f'no_{name}')}"
    elif kind.expected.startswith("a number"):
        metavar = "SECONDS"  # all of them are
    told = typer.Option(
        flag, metavar=metavar, help=text, rich_help_panel=panel, show_default=False
    )
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=Annotated[hint, told]
    )


def _help_of(cls: type[attrs.AttrsInstance]) -> dict[str, str]:
    """Read what a class says of its attributes; Python can be told to forget it (``-OO``)."""
    told = _ATTRIBUTE.findall(inspect.cleandoc(cls.__doc__ or ""))
    texts = {name: " ".join(text.replace("`", "").split()) for name, text in told}
    return {name: texts.get(name, "") for name in options_of(cls)}
