"""The client gets its token in every shape of authorization that the official suite knows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ._suite import run_suite

CLIENT = Path(__file__).parent / "client.py"

NEWEST = ("2025-11-25", "2026-07-28")
ONLY_MODERN = ("2026-07-28",)
SINCE_2025_06_18 = ("2025-06-18", *NEWEST)
OLDEST = ("2025-03-26", "2025-11-25")

SCENARIOS = {
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

RUNS = [(name, revision) for name, revisions in SCENARIOS.items() for revision in revisions]


@pytest.mark.parametrize(("scenario", "revision"), RUNS)
def test_scenario(scenario, revision, tmp_path):
    run_suite(
        tmp_path,
        "client",
        "--command",
        f"{sys.executable} {CLIENT}",
        "--scenario",
        f"auth/{scenario}",
        "--spec-version",
        revision,
        "--force",
    ).require()
