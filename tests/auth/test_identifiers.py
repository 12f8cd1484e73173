"""URLs are compared and sent as text: nothing is added, dropped or spelled anew."""

from __future__ import annotations

import pytest

from trio_mcp.auth._identifiers import (
    add_query,
    asm_urls,
    canonical_resource,
    check_endpoint,
    check_https,
    check_issuer,
    check_redirect_uri,
    is_loopback_url,
    is_parent_resource,
    is_same_origin,
    is_secure_url,
    is_valid_client_metadata_url,
    issuers_match,
    origin_of,
    prm_urls,
    split_url,
    well_known,
)
from trio_mcp.errors import OAuthFlowError
from trio_mcp.transports.http._endpoint import is_loopback

PRM = "/.well-known/oauth-protected-resource"
ASM = "/.well-known/oauth-authorization-server"
OPENID = "/.well-known/openid-configuration"


@pytest.mark.case("C056")
@pytest.mark.req("R-438", "R-439", "R-440")
@pytest.mark.parametrize(
    ("url", "canonical"),
    [
        ("https://h", "https://h"),
        ("https://h/", "https://h/"),
        ("https://h/mcp", "https://h/mcp"),
        ("https://h/mcp/", "https://h/mcp/"),
        ("https://h/mcp?a=%2F&b", "https://h/mcp?a=%2F&b"),
        ("https://h?a", "https://h?a"),
        ("HTTPS://H.Example:443/A%2fb", "https://h.example:443/A%2fb"),
        ("https://h/mcp#part", "https://h/mcp"),
        ("https://me:secret@H/mcp", "https://h/mcp"),
        ("https://[2001:DB8::1]:8/x", "https://[2001:db8::1]:8/x"),
    ],
)
def test_resource_is_canonical_and_otherwise_as_it_was(url, canonical):
    assert canonical_resource(url) == canonical


@pytest.mark.parametrize(
    "url",
    ["", "h/mcp", "/mcp", "ftp://h/", "https://", "https:/h", "https://h /", "https://h\\x", "https://ü/", "https://h\n/", "javascript:alert(1)", "https://[::1/", "https://a:b:c/"],
)  # fmt: skip
def test_what_is_no_url_has_no_identifier(url):
    with pytest.raises(ValueError, match="Expected an http or https URL"):
        canonical_resource(url)
    assert not is_secure_url(url)


@pytest.mark.req("R-472")
@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://h", [f"https://h{PRM}"]),
        ("https://h/", [f"https://h{PRM}"]),
        ("https://h/public/mcp", [f"https://h{PRM}/public/mcp", f"https://h{PRM}"]),
        ("https://h:8/mcp/", [f"https://h:8{PRM}/mcp/", f"https://h:8{PRM}"]),
        ("https://h/mcp?a=b", [f"https://h{PRM}/mcp?a=b", f"https://h{PRM}"]),
        ("https://u:p@h/mcp#x", [f"https://h{PRM}/mcp", f"https://h{PRM}"]),
    ],
)
def test_metadata_of_a_resource_is_looked_for_in_order(url, expected):
    assert prm_urls(None, url) == expected
    assert prm_urls("https://h/else", url) == ["https://h/else", *expected]
    assert prm_urls(expected[-1], url)[0] == expected[-1]


@pytest.mark.case("C053")
@pytest.mark.req("R-474", "R-475", "R-476")
@pytest.mark.parametrize(
    ("issuer", "expected"),
    [
        ("https://a", [f"https://a{ASM}", f"https://a{OPENID}"]),
        ("https://a/", [f"https://a{ASM}", f"https://a{OPENID}"]),
        ("https://a/t1", [f"https://a{ASM}/t1", f"https://a{OPENID}/t1", f"https://a/t1{OPENID}"]),
        ("https://a/t1/", [f"https://a{ASM}/t1", f"https://a{OPENID}/t1", f"https://a/t1{OPENID}"]),
        ("https://A:8/x/y", [f"https://A:8{ASM}/x/y", f"https://A:8{OPENID}/x/y", f"https://A:8/x/y{OPENID}"]),
    ],
)  # fmt: skip
def test_metadata_of_an_issuer_is_looked_for_in_order(issuer, expected):
    assert asm_urls(issuer) == expected


def test_well_known_stands_between_host_and_path():
    assert well_known("https://h/a/b?c", "x") == "https://h/.well-known/x/a/b?c"


@pytest.mark.case("C056")
@pytest.mark.parametrize(
    ("resource", "url", "is_parent"),
    [
        ("https://h", "https://h/mcp", True),
        ("https://h/", "https://h/mcp", True),
        ("https://h", "https://h/", True),
        ("https://h/mcp", "https://h/mcp", True),
        ("https://h/mcp/", "https://h/mcp", True),
        ("https://h/mcp", "https://h/mcp/", True),
        ("https://h/mcp", "https://h/mcp/a", True),
        ("https://H:443/mcp", "https://h/mcp", True),
        ("https://h/mcp", "https://h/mcp?a", True),
        ("https://h/mcp?a", "https://h/mcp?a", True),
        ("https://h/mcp?a", "https://h/mcp?b", False),
        ("https://h/mcp?a", "https://h/mcp", False),
        ("https://h/mc", "https://h/mcp", False),
        ("https://h/mcp/a", "https://h/mcp", False),
        ("https://h/MCP", "https://h/mcp", False),
        ("https://h/mcp#a", "https://h/mcp", False),
        ("https://other/mcp", "https://h/mcp", False),
        ("http://h/mcp", "https://h/mcp", False),
        ("https://h:8/mcp", "https://h/mcp", False),
        ("https://h@other/mcp", "https://h/mcp", False),
        ("https://x@h/mcp", "https://h/mcp", False),
        ("https://h/mcp", "https://h/mcp/../admin", False),
        ("https://h/mcp", "https://h/mcp/%2E./admin", False),
        ("https://h/a/../mcp", "https://h/a/../mcp", True),
        ("urn:h", "https://h/mcp", False),
        ("", "https://h/mcp", False),
    ],
)
def test_resource_is_that_of_the_server_or_above_it(resource, url, is_parent):
    assert is_parent_resource(resource, url) == is_parent


@pytest.mark.parametrize(
    ("a", "b", "match"),
    [
        ("https://a", "https://a", True),
        ("https://a", "https://a/", True),
        ("https://a/", "https://a", True),
        ("https://a/t", "https://a/t/", False),
        ("https://a", "https://A", False),
        ("https://a", "https://a:443", False),
        ("https://a", "https://a//", False),
        ("", "/", False),
    ],
)
def test_credentials_of_an_issuer_are_found_with_or_without_its_slash(a, b, match):
    assert issuers_match(a, b) == match


@pytest.mark.req("R-477", "R-478")
@pytest.mark.parametrize("found", ["https://A", "https://a/", "https://a:443", "https://b"])
def test_issuer_of_metadata_is_compared_exactly(found):
    check_issuer("https://a", "https://a", "https://a/x")
    with pytest.raises(OAuthFlowError, match="is of the issuer") as caught:
        check_issuer(found, "https://a", "https://a/x")
    assert repr(found) in str(caught.value)
    assert "expected 'https://a'" in str(caught.value)


@pytest.mark.req("R-500", "R-518", "R-520")
@pytest.mark.parametrize(
    ("url", "is_secure"),
    [
        ("https://a/token", True),
        ("HTTPS://a", True),
        ("http://localhost:8/t", True),
        ("http://LOCALHOST", True),
        ("http://127.0.0.1", True),
        ("http://[::1]:1/", True),
        ("http://a/token", False),
        ("http://localhost.evil.com", False),
        ("http://127.0.0.1@evil.com", False),
        ("https://user:pw@a", False),
        ("http://127.0.0.1.evil.com", False),
        ("http://[fe80::1]/", False),
        ("http://10.0.0.1", False),
        ("javascript:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("//a/token", False),
        ("https:a", False),
        ("https://a b", False),
        ("https://evil.com\\@a", False),
    ],
)
def test_secrets_go_only_to_https_or_this_machine(url, is_secure):
    assert is_secure_url(url) == is_secure
    if is_secure:
        assert check_https("token_endpoint", url) == url
        return
    with pytest.raises(OAuthFlowError, match="token_endpoint must be an https URL"):
        check_https("token_endpoint", url)


HERE = ["localhost", "LOCALHOST", "localhost.", "foo.localhost", "foo.localhost.", "127.0.0.1", "127.8.8.8", "127.0.0.1.", "127.1", "0x7f.1", "0177.0.0.1", "2130706433", "0.0.0.0", "0", "[::1]", "[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]"]  # fmt: skip


@pytest.mark.parametrize("host", HERE)
def test_this_machine_is_known_however_it_is_written(host):
    url = f"https://{host}:8443/reset"
    assert is_loopback_url(url)
    assert is_loopback(url)
    with pytest.raises(OAuthFlowError, match="leads to this machine"):
        check_endpoint("The authorization_endpoint", url, "https://as.example.com")
    assert check_endpoint("The authorization_endpoint", url, "http://127.0.0.1:1") == url


@pytest.mark.parametrize(
    ("host", "is_secure"),
    [("localhost", True), ("127.0.0.1", True), ("[::1]", True), ("foo.localhost", False), ("127.1", False), ("localhost.", False), ("0.0.0.0", False), ("[::ffff:10.0.0.1]", False)],
)  # fmt: skip
def test_secrets_go_unencrypted_only_where_nobody_disagrees_that_it_is_this_machine(
    host, is_secure
):
    assert is_secure_url(f"http://{host}/token") is is_secure


@pytest.mark.parametrize("host", ["localhost.evil.com", "notlocalhost", "128.0.0.1", "1.127", "[::2]", "[::ffff:10.0.0.1]", "10.0.0.1"])  # fmt: skip
def test_other_hosts_are_not_this_machine(host):
    assert not is_loopback_url(f"https://{host}/")
    assert not is_loopback(f"https://{host}/")


@pytest.mark.parametrize("url", ["https://%31%32%37.0.0.1/", "https://loc%61lhost/", "https://as.example:65536/", "https://127.0.0.1:99999/"])  # fmt: skip
def test_what_programs_read_in_different_ways_is_no_endpoint(url):
    with pytest.raises(OAuthFlowError, match="must be an https URL"):
        check_endpoint("The token_endpoint", url, "https://as.example")


def test_loopback_is_this_machine():
    assert is_loopback_url("http://127.0.0.1:3000/callback")
    assert not is_loopback_url("https://example.com")


@pytest.mark.req("R-501")
@pytest.mark.parametrize(
    ("uri", "is_allowed"),
    [
        ("http://localhost:3030/callback", True),
        ("http://127.0.0.1/cb", True),
        ("http://[::1]:8/", True),
        ("https://app.example/cb?x=1", True),
        ("http://app.example/cb", False),
        ("https://app.example/cb#x", False),
        ("com.example.app:/cb", False),
        ("javascript:alert(1)//https://a", False),
        ("https://user@app.example/cb", False),
        ("", False),
    ],
)
def test_redirect_uri_is_https_or_this_machine(uri, is_allowed):
    if is_allowed:
        assert check_redirect_uri(uri) == uri
        return
    with pytest.raises(ValueError, match="A redirect URI must be https"):
        check_redirect_uri(uri)


@pytest.mark.req("R-480", "R-481")
@pytest.mark.parametrize(
    ("url", "is_valid"),
    [
        ("https://example.com/client.json", True),
        ("https://example.com/a/b?c=d", True),
        ("https://example.com", False),
        ("https://example.com/", False),
        ("http://example.com/client.json", False),
        ("http://localhost/client.json", False),
        ("https://example.com/c#d", False),
        ("https://me@example.com/c", False),
        ("https://example.com/a/../c", False),
        ("https://example.com/%2e/c", False),
        ("client", False),
        ("", False),
        (None, False),
    ],
)
def test_client_id_that_is_a_url_is_https_with_a_path(url, is_valid):
    assert is_valid_client_metadata_url(url) == is_valid


@pytest.mark.parametrize(
    ("url", "added"),
    [
        ("https://a/x", "https://a/x?b=c+d&e=%26"),
        ("https://a/x?", "https://a/x?b=c+d&e=%26"),
        ("https://a/x?y=1", "https://a/x?y=1&b=c+d&e=%26"),
        ("https://a/x?y=1&", "https://a/x?y=1&b=c+d&e=%26"),
        ("https://a/x#z", "https://a/x?b=c+d&e=%26"),
    ],
)
def test_query_of_an_endpoint_is_kept(url, added):
    assert add_query(url, [("b", "c d"), ("e", "&")]) == added


def test_origin_is_scheme_host_and_port():
    assert origin_of("https://u:p@H:8/x?y#z") == "https://H:8"
    assert is_same_origin("https://h", "HTTPS://H:443/x")
    assert not is_same_origin("https://h", "https://h:8443")
    assert not is_same_origin("x", "x")


def test_long_port_is_no_other_port():
    parts = split_url(f"https://h:{'9' * 10_000}/")
    assert parts is not None
    assert parts.port == 999_999
