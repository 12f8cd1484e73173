"""The fast engine: Python source that fastjsonschema generates from a rebuilt schema.

Imported when the first validator is prepared, since fastjsonschema costs start-up time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

import fastjsonschema

from trio_mcp._codec import _json

if TYPE_CHECKING:
    from collections.abc import Callable

    from trio_mcp.types._base import JsonValue

# Generated functions by digest, oldest first: servers that make the same tools again and again
# (one per session, one per test) generate each once. An entry takes some 10 KiB.
_MAX_CACHED: Final = 512
_generated: dict[bytes, Callable[[JsonValue], bool]] = {}


def accepting_function(rebuilt: JsonValue) -> Callable[[JsonValue], bool]:
    """The function that says whether a value fits a rebuilt schema.

    Generating takes about 3 ms, the second time for an equal schema some microseconds.

    Args:
      rebuilt: What a fast `Plan` holds. Never anything else.

    """
    digest = _digest(rebuilt, fastjsonschema.VERSION)
    accepts = _generated.get(digest)
    if accepts is None:
        accepts = _generate(rebuilt)
        if len(_generated) >= _MAX_CACHED:
            _generated.pop(next(iter(_generated)), None)
        _generated[digest] = accepts
    return accepts


def _digest(rebuilt: JsonValue, version: str) -> bytes:
    return hashlib.sha256(version.encode() + b"\0" + _json.dumps(rebuilt)).digest()


def _generate(rebuilt: JsonValue) -> Callable[[JsonValue], bool]:
    # `detailed_exceptions=False` would be the template mode in which keys of a schema can become
    # code; defaults would change the value; formats are annotations.
    check = fastjsonschema.compile(
        rebuilt,
        handlers=_NoRetrieval(),
        use_default=False,
        use_formats=False,
        detailed_exceptions=True,
    )
    refusal = fastjsonschema.JsonSchemaValueException

    def accepts(value: JsonValue) -> bool:
        try:
            check(value)
        except refusal:
            return False
        return True

    return accepts


class _NoRetrieval(Mapping[str, Any]):
    """Has a handler for every URI scheme, so that none reaches urllib; each refuses."""

    def __contains__(self, scheme: object) -> bool:
        return True

    def __getitem__(self, scheme: str) -> Callable[[str], NoReturn]:
        def refuse(uri: str) -> NoReturn:
            raise AssertionError(f"a rebuilt schema refers to {uri}")

        return refuse

    def __iter__(self) -> Iterator[str]:
        return iter(())

    def __len__(self) -> int:
        return 0
