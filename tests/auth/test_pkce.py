from __future__ import annotations

import pytest

from trio_mcp.auth import PKCEParameters
from trio_mcp.auth._pkce import challenge_of, matches

# RFC 7636, appendix B.
VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"


@pytest.mark.req("R-503")
def test_challenge_is_that_of_the_rfc():
    assert challenge_of(VERIFIER) == CHALLENGE
    assert matches(VERIFIER, CHALLENGE)


def test_each_pair_is_fresh_and_fits():
    one, other = PKCEParameters.generate(), PKCEParameters.generate()
    assert one.code_verifier != other.code_verifier
    assert matches(one.code_verifier, one.code_challenge)
    assert not matches(other.code_verifier, one.code_challenge)


@pytest.mark.parametrize(
    ("verifier", "challenge"),
    [
        (VERIFIER[:-1], challenge_of(VERIFIER[:-1])),
        ("ä" * 43, CHALLENGE),
        (VERIFIER, CHALLENGE + "="),
        (VERIFIER, ""),
        (VERIFIER, "ä"),
        ("", ""),
    ],
)
def test_nothing_else_matches(verifier, challenge):
    assert not matches(verifier, challenge)


def test_verifier_is_not_shown():
    pair = PKCEParameters.generate()
    assert pair.code_verifier not in repr(pair)


@pytest.mark.parametrize("verifier", ["a" * 42, "a" * 129, "a" * 42 + "!"])
def test_verifier_has_its_form(verifier):
    with pytest.raises(ValueError, match="code_verifier must be 43 to 128 characters") as caught:
        PKCEParameters(code_verifier=verifier, code_challenge=CHALLENGE)
    assert verifier not in str(caught.value)
