"""The client does what the official suite asks of one, authorization in every shape included."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ._suite import announce, listed_scenarios, run_suite

CLIENT = Path(__file__).parent / "client.py"

NEWEST = ("2025-11-25", "2026-07-28")
ONLY_MODERN = ("2026-07-28",)
SINCE_2025_06_18 = ("2025-06-18", *NEWEST)
OLDEST = ("2025-03-26", "2025-11-25")

SCENARIOS = {
    "initialize": ("2025-06-18", "2025-11-25"),
    "tools_call": SINCE_2025_06_18,
    "elicitation-sep1034-client-defaults": ("2025-11-25",),
    "sse-retry": ("2025-11-25",),
    "request-metadata": ONLY_MODERN,
    "http-standard-headers": ONLY_MODERN,
    "http-custom-headers": ONLY_MODERN,
    "http-invalid-tool-headers": ONLY_MODERN,
    "sep-2322-client-request-state": ONLY_MODERN,
    "json-schema-ref-no-deref": ONLY_MODERN,
    "json-schema-2020-12-preservation": NEWEST,
    # Of extensions.
    "sep-2640-client-no-prefetch": NEWEST,
    "sep-2640-client-verify-digest": NEWEST,
    "sep-2640-client-verify-size": NEWEST,
    "sep-2640-client-verify-frontmatter": NEWEST,
}

AUTHORIZATION = {
    "metadata-default": NEWEST,
    "metadata-var1": NEWEST,
    "metadata-var2": NEWEST,
    "metadata-var3": NEWEST,
    "basic-cimd": NEWEST,
    "scope-from-www-authenticate": NEWEST,
    "scope-from-scopes-supported": NEWEST,
    "scope-omitted-when-undefined": NEWEST,
    "scope-step-up": NEWEST,
    "scope-retry-limit": NEWEST,
    "token-endpoint-auth-basic": SINCE_2025_06_18,
    "token-endpoint-auth-post": SINCE_2025_06_18,
    "token-endpoint-auth-none": SINCE_2025_06_18,
    "pre-registration": NEWEST,
    "2025-03-26-oauth-metadata-backcompat": OLDEST,
    "2025-03-26-oauth-endpoint-fallback": OLDEST,
    "resource-mismatch": ONLY_MODERN,
    "offline-access-scope": ONLY_MODERN,
    "offline-access-not-supported": ONLY_MODERN,
    "authorization-server-migration": ONLY_MODERN,
    "iss-supported": ONLY_MODERN,
    "iss-not-advertised": ONLY_MODERN,
    "iss-supported-missing": ONLY_MODERN,
    "iss-wrong-issuer": ONLY_MODERN,
    "iss-unexpected": ONLY_MODERN,
    "iss-normalized": ONLY_MODERN,
    "metadata-issuer-mismatch": ONLY_MODERN,
    # Of extensions.
    "client-credentials-jwt": NEWEST,
    "client-credentials-basic": NEWEST,
    "enterprise-managed-authorization": NEWEST,
    "dpop": NEWEST,
    "dpop-nonce": NEWEST,
    "wif-jwt-bearer": NEWEST,
}

SCENARIOS.update({f"auth/{name}": revisions for name, revisions in AUTHORIZATION.items()})

RUNS = [(name, revision) for name, revisions in SCENARIOS.items() for revision in revisions]

GOT_THROUGH = (0, "")
REFUSED = "Refused: skill://pdf-processing/SKILL.md"
FLOW_ERROR = "trio_mcp.errors.OAuthFlowError:"

ENDS = {
    "http-invalid-tool-headers": (
        0,
        "The tool 'invalid_control_char_name' is left out of the list",
    ),
    "sep-2640-client-verify-digest": (0, f"{REFUSED} has the digest"),
    "sep-2640-client-verify-size": (0, f"{REFUSED} has 139 bytes, and 97 by its entry"),
    "sep-2640-client-verify-frontmatter": (0, f"{REFUSED} says something else than its entry"),
    "auth/scope-retry-limit": (1, f"{FLOW_ERROR} The server"),
    "auth/resource-mismatch": (
        1,
        f"{FLOW_ERROR} The metadata of the server is that of the resource",
    ),
    "auth/iss-supported-missing": (1, f"{FLOW_ERROR} The answer has no iss"),
    "auth/iss-wrong-issuer": (1, f"{FLOW_ERROR} The answer comes from the issuer"),
    "auth/iss-unexpected": (1, f"{FLOW_ERROR} The answer comes from the issuer"),
    "auth/iss-normalized": (1, f"{FLOW_ERROR} The answer comes from the issuer"),
    "auth/metadata-issuer-mismatch": (1, f"{FLOW_ERROR} The metadata at"),
}
"""How the client ends where the suite lets it fail in any way: with what, and its last line.

In all others it gets through.
"""


def test_every_scenario_is_run_in_each_revision_that_it_is_for():
    listed = listed_scenarios("client")
    assert listed.keys() == SCENARIOS.keys()
    for scenario, revisions in listed.items():
        # Those of extensions are for any revision that has them.
        assert revisions - {"extension"} <= set(SCENARIOS[scenario]), scenario


@pytest.mark.parametrize(("scenario", "revision"), RUNS)
def test_scenario(scenario, revision, tmp_path, record_property):
    # Alone: the suite would start all clients of a leg at once, and not look at how they end.
    leg = f"client --spec-version {revision}"
    announce(leg, record_property)
    outcome = run_suite(
        tmp_path,
        "client",
        "--command",
        f"{sys.executable} {CLIENT}",
        "--scenario",
        scenario,
        "--spec-version",
        revision,
        "--force",
    )
    outcome.record(leg, record_property)
    assert list(outcome.scenarios) == [scenario]
    outcome.require()
    outcome.require_client_end(*ENDS.get(scenario, GOT_THROUGH))
