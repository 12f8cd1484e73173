"""How a request is refused whose client lacks something."""

from __future__ import annotations

import pytest

from trio_mcp._protocol._refusals import missing_client_capability

FORM = {"elicitation": {"form": {}}}
STAMPS = "com.example/stamps"


@pytest.mark.req("R-054")
@pytest.mark.parametrize(
    ("required", "declared", "lacks"),
    [
        ({"roots": {}}, {}, "the roots capability"),
        ({"roots": {}}, {"roots": True}, "the roots capability"),
        (FORM, {}, "the form elicitation capability"),
        (FORM, {"elicitation": {"url": {}}}, "the form elicitation capability"),
        ({"sampling": {}}, {}, "the sampling capability"),
        ({"sampling": {"tools": {}}}, {"sampling": {}}, "the sampling.tools capability"),
        # What it has is not complained of.
        ({"roots": {}, **FORM}, {"roots": {}}, "the form elicitation capability"),
        ({"extensions": {STAMPS: {}}}, {"extensions": {}}, f"the {STAMPS} extension"),
        (
            {"sampling": {"tools": {}}, "extensions": {STAMPS: {}}},
            {},
            f"the sampling.tools capability and the {STAMPS} extension",
        ),
        # Before the handshake.
        ({}, {}, "its capabilities"),
    ],
)
def test_it_is_told_what_it_did_not_declare(required, declared, lacks):
    error = missing_client_capability(required, declared)
    assert (error.code, error.message) == (-32021, f"Client did not declare {lacks}")
    assert error.data == {"requiredCapabilities": required}


def test_it_is_told_what_that_is_needed_for():
    error = missing_client_capability(FORM, {}, "resolver 'who'")
    assert error.message == (
        "Client did not declare the form elicitation capability required by resolver 'who'"
    )
