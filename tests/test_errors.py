from __future__ import annotations

import pickle

import pytest

from trio_mcp.errors import (
    ConnectionLost,
    InsufficientScopeError,
    InvalidResponse,
    LocalError,
    MCPError,
    NoBackChannelError,
    RequestTimeout,
    UrlElicitationRequiredError,
)
from trio_mcp.types import ElicitRequestURLParams, ErrorData


@pytest.mark.parametrize(
    "data", [None, 5, "x", [], {}, {"elicitations": 5}, {"elicitations": [1]}]
)
def test_an_odd_demand_for_urls_is_an_error_without_urls(data):
    error = MCPError.from_error_data(ErrorData(code=-32042, message="go", data=data))
    assert isinstance(error, UrlElicitationRequiredError)
    assert error.elicitations == []
    assert error.data == data


@pytest.mark.req("R-589", "R-591")
def test_a_demand_for_urls_lists_them_and_is_read_back():
    wanted = ElicitRequestURLParams(message="m", url="https://x", elicitation_id="e")
    raised = UrlElicitationRequiredError([wanted])
    assert raised.code == -32042
    assert raised.data["elicitations"][0]["mode"] == "url"
    assert raised.data["elicitations"][0]["elicitationId"] == "e"
    read = MCPError.from_error_data(raised.error)
    assert isinstance(read, UrlElicitationRequiredError)
    assert read.elicitations == [wanted]


@pytest.mark.parametrize(
    "error",
    [
        MCPError(-31000, "own", {"a": [1]}),
        ConnectionLost("gone", exit_status=3, stderr="why"),
        RequestTimeout("late"),
        InvalidResponse("odd", "what came"),
        NoBackChannelError("elicitation/create"),
        InsufficientScopeError(["files:read", "files:write"]),
        UrlElicitationRequiredError(
            [ElicitRequestURLParams(message="m", url="https://x", elicitation_id="e")]
        ),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_travel_between_processes(error):
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert (copy.code, copy.message, copy.data) == (error.code, error.message, error.data)
    assert str(copy) == str(error)
    if isinstance(error, ConnectionLost):
        assert (copy.exit_status, copy.stderr) == (3, "why")


@pytest.mark.req("R-017")
@pytest.mark.parametrize("code", range(-32019, -31999))
def test_no_code_of_a_peer_becomes_a_local_failure(code):
    error = MCPError.from_error_data(ErrorData(code=code, message="m"))
    assert not isinstance(error, LocalError)


@pytest.mark.parametrize("make", [MCPError, lambda *said: MCPError.from_error_data(_data(*said))])
@pytest.mark.parametrize(
    ("code", "message", "why"),
    [
        ("-32602", "no", "code: expected a whole number, got str"),
        (None, "no", "code: expected a whole number, got NoneType"),
        (1.5, "no", "code: expected a whole number, got float"),
        (True, "no", "code: expected a whole number, got bool"),
        (5, None, "message: expected str, got NoneType"),
        (5, ValueError("no"), "message: expected str, got ValueError"),
    ],
)
def test_what_no_peer_takes_for_an_error_is_refused_where_it_is_made(make, code, message, why):
    with pytest.raises(TypeError, match=why):
        make(code, message)


def _data(code, message):
    return ErrorData(code=code, message=message)
