"""What is written here is read by the official SDK's types, and the other way round."""

from __future__ import annotations

import inspect

import mcp_types
import pydantic
import pytest
from hypothesis import HealthCheck, given, settings

from trio_mcp import types
from trio_mcp._codec import decode, encode
from trio_mcp.types import LATEST_HANDSHAKE, LATEST_MODERN

from ._wire_values import values_of

MODELS = [
    name
    for name in mcp_types.__all__
    if inspect.isclass(model := getattr(mcp_types, name))
    and issubclass(model, pydantic.BaseModel)
    and name not in {"Request", "Notification", "PaginatedRequest"}
    and issubclass(getattr(types, name), types.WireModel)
]


@pytest.mark.parametrize("revision", [LATEST_HANDSHAKE, LATEST_MODERN], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_both_sdks_read_what_the_other_writes(name, revision):
    cls, model = getattr(types, name), getattr(mcp_types, name)
    if not revision.includes(cls.wire_since, None):
        with pytest.raises(ValueError, match=f"has no {name}"):
            encode(types.InputRequiredResult(request_state="s"), revision)
        return

    @settings(max_examples=5, suppress_health_check=list(HealthCheck))
    @given(values_of(cls, revision))
    def both_read_it(value):
        wire = encode(value, revision)
        theirs = model.model_validate(wire, by_name=False)
        # Their other way, without what is None, would lose the null of a task's ``ttl``.
        dumped = theirs.model_dump(mode="json", by_alias=True, exclude_unset=True)
        assert encode(decode(cls, dumped, revision), revision) == wire

    both_read_it()
