"""The feature tests run once for each road to the server and each revision of the protocol."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from ._roads import EVERYWHERE, Features


@pytest.fixture(params=EVERYWHERE, ids=str)
def features(request: pytest.FixtureRequest) -> Features:
    features: Features = request.param
    return features


@pytest.fixture(autouse=True)
def clock(features: Features) -> trio.abc.Clock | None:
    """Virtual time, unless bytes travel in real time."""
    return None if features.takes_real_time else trio.testing.MockClock(autojump_threshold=0)
