"""Where metadata is looked for, in which order, and what is believed."""

from __future__ import annotations

import pytest

from trio_mcp.auth import OAuthClientInformationFull
from trio_mcp.auth._step_types import CheckResourceStep
from trio_mcp.errors import OAuthFlowError

PRM = "https://h.example/.well-known/oauth-protected-resource"
ASM = "https://as.example/.well-known/oauth-authorization-server"
HTML = b"<!doctype html><title>Welcome</title>"


def prm_document(**more):
    return {
        "resource": "https://h.example/mcp",
        "authorization_servers": ["https://as.example"],
        **more,
    }


# The server's metadata


@pytest.mark.case("C052")
@pytest.mark.req("R-471", "R-472")
@pytest.mark.parametrize(
    ("status", "body"),
    [(401, b""), (403, b""), (400, b""), (404, b""), (405, b""), (429, b""), (302, b""), (204, b""),
     (200, HTML), (200, b""), (200, b"[]"), (200, {"resource": "https://h.example/mcp"}),
     (200, prm_document(authorization_servers=[])), (200, prm_document(resource=1))],
)  # fmt: skip
def test_what_is_not_there_leads_on_to_the_next_place(world, answer, status, body):
    world.routes[f"{PRM}/mcp"] = world.routes["https://elsewhere.example/prm"] = answer(
        status, body
    )
    world.routes[PRM] = answer(200, prm_document())
    assert world.challenge(header='Bearer resource_metadata="https://elsewhere.example/prm"')
    assert world.requested[:3] == ["https://elsewhere.example/prm", f"{PRM}/mcp", PRM]


@pytest.mark.case("C052")
@pytest.mark.parametrize("status", [500, 502, 503])
@pytest.mark.parametrize("url", [f"{PRM}/mcp", ASM])
def test_server_that_does_not_work_is_reported(world, answer, url, status):
    world.routes[url] = answer(status, HTML)
    world.routes[PRM] = answer(200, prm_document())
    with pytest.raises(OAuthFlowError, match=f"'{url}' answered {status}"):
        world.challenge()
    assert world.requested[-1] == url


@pytest.mark.case("C052")
@pytest.mark.parametrize(
    "url", [f"{PRM}/mcp", ASM, "https://as.example/register", "https://as.example/token"]
)
def test_failure_of_the_network_comes_out_as_it_is(world, url):
    failure = ConnectionResetError("reset")
    world.routes[url] = failure
    with pytest.raises(ConnectionResetError) as caught:
        world.challenge()
    assert caught.value is failure
    assert world.requested[-1] == url


@pytest.mark.case("C052")
def test_too_many_requests_are_no_sign_of_absence(world, answer):
    world.routes[f"{PRM}/mcp"] = answer(429)
    with pytest.raises(OAuthFlowError, match="answered 429"):
        world.challenge()
    assert world.requested == [f"{PRM}/mcp", PRM]


@pytest.mark.case("C054")
@pytest.mark.req("R-471", "R-472", "R-473")
@pytest.mark.parametrize(
    "header",
    [
        'Bearer resource_metadata="https://h.example/odd/place.json"',
        'Basic realm="x", BEARER error="invalid_token", Resource_Metadata="https://h.example/odd/place.json"',
        "DPoP algs=ES256, resource_metadata=https://h.example/odd/place.json",
    ],
)
def test_metadata_is_where_the_challenge_says(world, answer, header):
    world.routes = {"https://h.example/odd/place.json": answer(200, prm_document())}
    world.publish_asm("https://as.example")
    assert world.challenge(header=header)
    assert world.requested[:2] == ["https://h.example/odd/place.json", ASM]


@pytest.mark.req("R-473")
@pytest.mark.parametrize("header", ["", "Basic realm=x", "Bearer", "Bearer error=invalid_token"])
def test_refusal_without_a_place_leads_to_the_well_known_ones(world, header):
    assert world.challenge(header=header)
    assert world.requested[0] == f"{PRM}/mcp"


@pytest.mark.req("R-520", "R-521")
@pytest.mark.parametrize(
    "url",
    ["http://elsewhere.example/prm", "file:///etc/passwd", "javascript:alert(1)", "/relative", "https://u:p@e.example/"],
)  # fmt: skip
def test_place_that_nobody_should_be_sent_to_is_passed_over(world, url):
    assert world.challenge(header=f'Bearer resource_metadata="{url}"')
    assert world.requested[0] == f"{PRM}/mcp"


@pytest.mark.req("R-521")
def test_places_that_others_have_named_are_marked(world):
    assert world.challenge()
    assert [step.foreign for step in world.steps if hasattr(step, "foreign")] == [
        False, True, True, True,
    ]  # fmt: skip


def test_metadata_is_asked_for_as_an_older_server_expects(world):
    world.challenge()
    assert world.sent_to(ASM)[0].headers == {
        "Accept": "application/json",
        "MCP-Protocol-Version": "2026-07-28",
    }


# The identifier of the server


@pytest.mark.case("C056")
@pytest.mark.req("R-435", "R-436", "R-437", "R-439")
@pytest.mark.parametrize(
    ("server_url", "resource"),
    [
        ("https://h.example", "https://h.example"),
        ("https://h.example", "https://h.example/"),
        ("https://h.example/", "https://h.example"),
        ("https://h.example/", "https://h.example/"),
        ("https://h.example/mcp", "https://h.example/mcp"),
        ("https://h.example/mcp/", "https://h.example/mcp/"),
        ("https://h.example/mcp", "https://h.example/mcp/"),
        ("https://h.example/mcp/", "https://h.example/mcp"),
        ("https://h.example/mcp?a=b", "https://h.example/mcp?a=b"),
        ("https://h.example/mcp?a=b", "https://h.example/mcp"),
        ("https://h.example/a/b", "https://h.example/a"),
        ("https://h.example/mcp", "https://H.example:443/mcp"),
    ],
)
def test_resource_is_sent_byte_for_byte_as_published(world, answer, server_url, resource):
    world.server_url = server_url
    world.routes["https://h.example/.well-known/oauth-protected-resource"] = answer(
        200, prm_document(resource=resource)
    )
    world.routes.pop(f"{PRM}/mcp")
    assert world.challenge()
    assert world.queries[0]["resource"] == resource
    assert world.forms()[0]["resource"] == resource
    world.now += 4000
    world.call(lambda headers: answer(200))
    assert world.forms()[1]["resource"] == resource


@pytest.mark.case("C056")
@pytest.mark.req("R-437")
@pytest.mark.parametrize(
    "resource",
    ["https://other.example/mcp", "http://h.example/mcp", "https://h.example/mc", "https://h.example/mcp/more", "https://h.example:8443/mcp", "https://h.example.evil.example/mcp", "h"],
)  # fmt: skip
def test_foreign_resource_stops_the_flow(world, resource):
    world.publish(resource=resource)
    with pytest.raises(OAuthFlowError, match="that of the resource") as caught:
        world.challenge()
    assert repr(resource) in str(caught.value)
    assert "expected 'https://h.example/mcp'" in str(caught.value)
    assert world.requested == [f"{PRM}/mcp"]


def test_application_may_decide_about_the_resource(world):
    world.options["checks_resource"] = True
    world.publish(resource="https://other.example/mcp")
    assert world.challenge()
    assert world.queries[0]["resource"] == "https://other.example/mcp"
    asked = [step for step in world.steps if isinstance(step, CheckResourceStep)]
    assert asked == [
        CheckResourceStep(server_url="https://h.example/mcp", resource="https://other.example/mcp")
    ]


def test_application_may_refuse_the_resource(world):
    def refuse(step):
        raise OAuthFlowError("not that one")

    world.options["checks_resource"] = True
    world.check_resource = refuse
    with pytest.raises(OAuthFlowError, match="not that one"):
        world.challenge()
    assert world.memory.issuer is None


# The metadata of the authorization server


@pytest.mark.case("C053")
@pytest.mark.req("R-419", "R-420", "R-474", "R-475", "R-476")
@pytest.mark.parametrize(
    ("issuer", "places"),
    [
        (
            "https://as.example",
            [
                "https://as.example/.well-known/oauth-authorization-server",
                "https://as.example/.well-known/openid-configuration",
            ],
        ),
        (
            "https://as.example/tenant1",
            [
                "https://as.example/.well-known/oauth-authorization-server/tenant1",
                "https://as.example/.well-known/openid-configuration/tenant1",
                "https://as.example/tenant1/.well-known/openid-configuration",
            ],
        ),
    ],
)
def test_metadata_is_found_at_each_of_its_places(world, answer, issuer, places):
    for count, place in enumerate(places, 1):
        world.forget()
        world.routes.clear()
        world.publish(issuer)
        document = world.routes.pop(f"{issuer}/.well-known/oauth-authorization-server")
        for other in places:
            world.routes[other] = answer(404) if count % 2 else answer(200, HTML)
        world.routes[place] = document
        assert world.challenge()
        assert world.requested[1 : count + 1] == places[:count]
        assert world.requested[count + 1] == f"{issuer}/register"


@pytest.mark.req("R-477", "R-478")
@pytest.mark.parametrize(
    "found",
    ["https://as.example/", "https://AS.example", "https://as.example:443", "https://other.example", "http://as.example"],
)  # fmt: skip
def test_metadata_of_another_issuer_is_not_used(world, answer, found):
    world.publish_asm("https://as.example", issuer=found)
    with pytest.raises(OAuthFlowError, match="is of the issuer") as caught:
        world.challenge()
    assert repr(found) in str(caught.value)
    assert "expected 'https://as.example'" in str(caught.value)
    # The next place is not tried: the server that is trusted said something wrong.
    assert world.requested[-1] == ASM


def test_without_any_metadata_it_is_said_what_was_tried(world, answer):
    world.routes[ASM] = answer(403)
    openid = "https://as.example/.well-known/openid-configuration"
    world.routes[openid] = answer(200, {"issuer": "https://as.example"})
    with pytest.raises(OAuthFlowError, match="publishes no metadata") as caught:
        world.challenge()
    assert f"'{ASM}': 403" in str(caught.value)
    assert f"'{openid}': no such document, json.token_endpoint" in str(caught.value)


@pytest.mark.req("R-500", "R-518")
@pytest.mark.parametrize(
    "issuer",
    ["http://as.example", "http://10.0.0.1", "javascript:alert(1)", "https://u@as.example", "as.example", "https://as.example?a", "https://as.example/#a"],
)  # fmt: skip
def test_issuer_is_an_https_url(world, answer, issuer):
    world.routes[f"{PRM}/mcp"] = answer(200, prm_document(authorization_servers=[issuer]))
    with pytest.raises(OAuthFlowError) as caught:
        world.challenge()
    # As it was written, but for a password.
    assert repr(issuer.replace("u@", "***@")) in str(caught.value)
    assert world.requested == [f"{PRM}/mcp"]


@pytest.mark.req("R-500", "R-517", "R-518", "R-520")
@pytest.mark.parametrize(
    "endpoint", ["authorization_endpoint", "token_endpoint", "registration_endpoint"]
)
@pytest.mark.parametrize(
    "url",
    ["http://as.example/x", "javascript:alert(1)", "data:text/html,x", "vbscript:x", "file:///x"],
)
def test_endpoints_are_checked_before_anything_goes_there(world, endpoint, url):
    world.publish(**{endpoint: url})
    with pytest.raises(OAuthFlowError, match=f"The {endpoint} must be an https URL"):
        world.challenge()
    assert url not in world.requested
    assert world.queries == []


@pytest.mark.req("R-517", "R-520", "R-521")
@pytest.mark.parametrize(
    "endpoint", ["authorization_endpoint", "token_endpoint", "registration_endpoint"]
)
@pytest.mark.parametrize("url", ["http://localhost:631/x", "https://127.0.0.1/x"])
def test_server_elsewhere_sends_nobody_to_this_machine(world, endpoint, url):
    world.publish(**{endpoint: url})
    with pytest.raises(OAuthFlowError, match=f"The {endpoint} of the issuer .* to this machine"):
        world.challenge()
    assert url not in world.requested


@pytest.mark.parametrize("host", ["localhost:9", "127.0.0.1:9", "[::1]:9"])
def test_this_machine_needs_no_https(world, host):
    world.routes.clear()
    world.server_url = f"http://{host}/mcp"
    world.publish(f"http://{host}")
    assert world.challenge()


# Which of several


def test_first_of_several_is_taken(world, answer):
    world.routes[f"{PRM}/mcp"] = answer(
        200, prm_document(authorization_servers=["https://as.example", "https://b.example"])
    )
    assert world.challenge()
    assert world.memory.issuer == "https://as.example"


@pytest.mark.req("R-468")
@pytest.mark.parametrize("registered_with", ["https://b.example", "https://b.example/"])
def test_one_that_there_are_credentials_for_is_taken(world, answer, registered_with):
    world.publish_asm("https://b.example")
    world.routes[f"{PRM}/mcp"] = answer(
        200, prm_document(authorization_servers=["https://as.example", "https://b.example"])
    )
    world.options["client_info"] = OAuthClientInformationFull(
        client_id="mine", issuer=registered_with
    )
    assert world.challenge()
    assert world.memory.issuer == "https://b.example"
    assert world.queries[0]["client_id"] == "mine"


def test_application_chooses(world, answer):
    world.publish_asm("https://b.example")
    world.routes[f"{PRM}/mcp"] = answer(
        200, prm_document(authorization_servers=["https://as.example", "https://b.example"])
    )
    world.options["choose_issuer"] = lambda issuers: issuers[-1]
    assert world.challenge()
    assert world.memory.issuer == "https://b.example"
    world.forget()
    world.options["choose_issuer"] = lambda issuers: "https://c.example"
    with pytest.raises(OAuthFlowError, match="must be one of 'https://as"):
        world.challenge()


def test_only_the_issuer_that_was_given_is_dealt_with(world):
    world.options["issuer"] = "https://as.example/"
    assert world.challenge()
    world.forget()
    world.options["issuer"] = "https://b.example"
    with pytest.raises(OAuthFlowError, match="expected the issuer 'https://b") as caught:
        world.challenge()
    assert "takes tokens of 'https://as.example'" in str(caught.value)


@pytest.mark.parametrize("by", ["issuer", "client_info"])
def test_issuer_that_is_known_needs_no_metadata_of_the_server(world, by):
    world.routes.pop(f"{PRM}/mcp")
    world.options[by] = (
        "https://as.example"
        if by == "issuer"
        else OAuthClientInformationFull(client_id="mine", issuer="https://as.example")
    )
    world.server_url = "HTTPS://H.example/mcp"
    assert world.challenge()
    assert world.queries[0]["resource"] == "https://h.example/mcp"


# Servers of 2025-03-26


@pytest.mark.req("R-471")
def test_older_server_with_metadata_is_its_own_authorization_server(world):
    world.routes.clear()
    world.issuer = "https://h.example"
    world.publish_asm("https://h.example", token_endpoint="https://h.example/oauth/token")
    world.routes["https://h.example/oauth/token"] = world.give_token
    assert world.challenge()
    assert world.requested == [
        f"{PRM}/mcp",
        PRM,
        "https://h.example/.well-known/oauth-authorization-server",
        "https://h.example/register",
        "https://h.example/oauth/token",
    ]
    assert "resource" not in world.queries[0]
    assert "resource" not in world.forms("https://h.example/oauth/token")[0]


def test_older_server_without_metadata_has_its_endpoints_at_known_paths(world, answer):
    world.routes = {
        "https://h.example/register": world.register,
        "https://h.example/token": world.give_token,
        "https://h.example/.well-known/oauth-authorization-server": answer(200, HTML),
    }
    world.issuer = "https://h.example"
    assert world.challenge()
    assert world.requested[-2:] == ["https://h.example/register", "https://h.example/token"]
    [query] = world.queries
    assert query["code_challenge_method"] == "S256"
    assert "resource" not in query


@pytest.mark.parametrize(
    ("issuer", "is_right"),
    [
        ("https://h.example/", True),
        ("https://other.example", False),
        ("https://h.example/mcp", False),
    ],
)
def test_older_server_is_its_own_issuer(world, issuer, is_right):
    world.routes.clear()
    world.publish_asm("https://h.example", issuer=issuer)
    if is_right:
        assert world.challenge()
        assert world.memory.issuer == issuer
        return
    with pytest.raises(OAuthFlowError, match="is of the issuer"):
        world.challenge()


def test_older_server_that_does_not_work_is_reported(world, answer):
    world.routes = {"https://h.example/.well-known/oauth-authorization-server": answer(503)}
    with pytest.raises(OAuthFlowError, match="answered 503"):
        world.challenge()


def test_older_server_without_https_is_refused(world):
    world.server_url = "http://h.example/mcp"
    world.routes.clear()
    with pytest.raises(OAuthFlowError, match="must be an https URL"):
        world.challenge()


@pytest.mark.req("R-441")
@pytest.mark.parametrize(
    ("version", "is_sent"),
    [(None, False), ("2025-03-26", False), ("2025-06-18", True), ("2026-07-28", True), ("x", False)],
)  # fmt: skip
def test_later_server_without_metadata_is_named(world, version, is_sent):
    world.routes = {
        "https://h.example/register": world.register,
        "https://h.example/token": world.give_token,
    }
    assert world.challenge(attempt=world.attempt(protocol_version=version))
    assert world.queries[0].get("resource") == ("https://h.example/mcp" if is_sent else None)


def test_issuer_of_an_older_server_may_be_known(world):
    world.routes = {
        "https://h.example/register": world.register,
        "https://h.example/token": world.give_token,
    }
    world.options["client_info"] = OAuthClientInformationFull(
        client_id="mine", issuer="https://h.example/"
    )
    assert world.challenge()
    assert world.queries[0]["client_id"] == "mine"


@pytest.mark.parametrize(
    "serve",
    [
        lambda answer: answer(200, prm_document(resource="https://h.example/mcp")),
        lambda answer: answer(200, prm_document(resource="https://other.example/mcp")),
        lambda answer: answer(503),
    ],
)
@pytest.mark.parametrize("status", [401, 403])
def test_password_and_key_of_a_url_are_not_shown(world, answer, status, serve):
    world.server_url = "https://me:s3cret@h.example/mcp?key=s3cret"
    world.routes[f"{PRM}/mcp?key=s3cret"] = serve(answer)
    header = 'Bearer error="insufficient_scope", scope="a"'
    with pytest.raises(OAuthFlowError) as caught:
        world.call(lambda headers: answer(status, WWW_Authenticate=header))
    assert "s3cret" not in str(caught.value)
    assert "@" not in world.requested[0]
