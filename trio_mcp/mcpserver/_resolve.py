"""The mark of a parameter that a resolver fills in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from trio_mcp._checks import check_callable

if TYPE_CHECKING:
    from collections.abc import Callable


@final
class Resolve:
    """Fill in a parameter by calling a function, instead of by what the client sends.

    ::

        def ask(path: str) -> Elicit[Confirm]:
            return Elicit(f"Really delete {path}?", Confirm)

        @mcp.tool()
        def delete_file(path: str, answer: Annotated[Confirm, Resolve(ask)]) -> str: ...

    Works for tools, resources and prompts. The parameter is not published, and a client cannot
    set it. The function, a *resolver*, may itself take the `Context`, arguments of the tool by
    their names, and what other resolvers find. Those that do not need each other run at the
    same time; each runs once a round, however many need it. One that fails ends the call and
    the others; of those that fail together, the first in the order of the parameters is told.

    What it returns is the value, unless that is a question: `Elicit`, `Sample` or `ListRoots`.
    Then the client is asked, whichever revision it speaks, and the value is its answer. A user
    who declines ends the call, unless the parameter takes an `ElicitationResult`. In the modern
    era the client comes back with the answers, and all resolvers run again: let them have no
    effects before the last question is answered.

    A resolver that yields once instead of returning (a generator function, sync or async, or
    one made a context manager by `contextlib`) cleans up after its ``yield`` when the tool has
    returned or failed, in reverse order. It sees a failure, and cannot keep it to itself: what
    it swallows is logged, and the call fails all the same. These are entered one after another
    in the task of the tool, as nested ``with`` blocks would be.

    A tool's ``timeout`` counts for its resolvers, too, and not for the time in which the client
    is asked.

    Args:
      fn: The resolver. Sync functions run in threads.

    """

    __slots__ = ("fn",)

    def __init__(self, fn: Callable[..., Any]) -> None:
        check_callable("fn", fn)
        self.fn = fn

    def __repr__(self) -> str:
        return f"Resolve({getattr(self.fn, '__qualname__', self.fn)})"
