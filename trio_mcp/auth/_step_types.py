"""What the machine of OAuth yields, and what it is fed.

A flow (`Flow`) is a generator without I/O. Whoever drives it carries out each step that it yields,
and feeds what came of it::

    flow = answer_challenge(memory, config, attempt, answer)
    fed = None
    while True:
        try:
            step = flow.send(fed)
        except StopIteration as end:
            return end.value
        try:
            fed = await carry_out(step)
        except Exception as exc:  # `Cancelled` leaves through the driver, and closes the flow
            step = flow.throw(exc)

======================  =========================================================================
is yielded              is fed
======================  =========================================================================
`HttpStep`              `HttpAnswer`. A failure of the network is thrown in, and comes out again.
`AuthorizeStep`         `AuthorizationCodeResult`, or `AuthorizationRefused`
`AssertionStep`         the assertion, as text
`LoadStep`              `Stored`
`SaveTokensStep`        None
`SaveClientStep`        None
`CheckResourceStep`     None, or the application's refusal is thrown in
======================  =========================================================================

Memory is changed as soon as an answer is fed, before anything is saved. So a flow that is closed
at a later step, since its caller was cancelled, has lost nothing that had come.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import attrs

from trio_mcp.errors import OAuthFlowError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._models import OAuthClientInformationFull, OAuthToken

T = TypeVar("T")


@attrs.frozen
class HttpAnswer:
    """An HTTP response, read to its end.

    Attributes:
      status: Of a redirect, too: those that lead elsewhere are not followed.
      headers: A mapping that does not mind the case of names; those of one name are joined by
        ``", "``.
      content: The decoded body; nobody looks at that of a server's 401 or 403.

    """

    status: int
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    content: bytes = attrs.field(default=b"", repr=False)


@attrs.frozen(kw_only=True)
class HttpStep:
    """Make this request.

    Attributes:
      url: To be requested as it is.
      headers: All that matter; a driver may add its own.
      content: The body.
      what: For whom, for error messages: ``"the token endpoint"``.
      once: The server acts on it once: it uses up a code, a refresh token or an assertion, or
        registers a client. So it is seen through for some seconds although the caller is
        cancelled, and never sent again after a failure.
      foreign: The address was named by somebody else than the user, so that it must not lead to
        private networks.

    """

    method: str
    url: str
    headers: Mapping[str, str] = attrs.field(factory=dict[str, str], repr=False)
    content: bytes | None = attrs.field(default=None, repr=False)
    what: str
    once: bool = False
    foreign: bool = False


@attrs.frozen(kw_only=True)
class AuthorizeStep:
    """Ask a person: show them this URL, and wait for the redirect.

    Attributes:
      url: Of the authorization request; http(s) alone.
      state: What the redirect has to bring back. It is checked again when it is fed.
      redirect_uri: Where the redirect goes to.
      issuer: Whom the person will deal with.

    """

    url: str = attrs.field(repr=False)
    state: str = attrs.field(repr=False)
    redirect_uri: str
    issuer: str


class NobodyToAsk(OAuthFlowError):
    """A person would have to log in, and this is no time to ask one. Thrown in for that step."""


@attrs.frozen(kw_only=True)
class AuthorizationRefused:
    """The redirect brought an error (RFC 6749, section 4.1.2.1).

    It undergoes the same checks as a code, and is not shown to anybody before.
    """

    error: str
    error_description: str | None = None
    error_uri: str | None = None
    state: str | None = attrs.field(default=None, repr=False)
    iss: str | None = None


AssertionKind: TypeAlias = Literal["client_assertion", "subject_token", "id_jag", "workload"]


@attrs.frozen(kw_only=True)
class AssertionStep:
    """Get an assertion. A fresh one is asked for each time, since servers take each only once.

    Attributes:
      kind: ``"client_assertion"``: a JWT that proves who the client is (RFC 7523, section 2.2).
        ``"subject_token"``: of the person, for the identity provider (RFC 8693).
        ``"id_jag"``: the identity assertion for the authorization server.
        ``"workload"``: what the platform says of this program.
      audience: Whom it is for: the issuer; of a subject token the identity provider.
      token_endpoint: Where it goes, which some servers want as audience.
      client_id: In whose name, if a client id is known.
      resource: The server that the token will be for.
      scope: What will be asked for.

    """

    kind: AssertionKind
    audience: str
    token_endpoint: str
    client_id: str | None = None
    resource: str | None = None
    scope: str | None = None


@attrs.frozen
class LoadStep:
    """Read the store: once, and before each refresh, since another process may have made it.

    Attributes:
      renews: A refresh follows, if the store has nothing newer. So no other process should do the
        same until what came is saved, or until a person is asked.

    """

    renews: bool = False


@attrs.frozen(kw_only=True)
class Stored:
    """What the store holds."""

    tokens: OAuthToken | None = None
    client_info: OAuthClientInformationFull | None = None


@attrs.frozen(kw_only=True)
class SaveTokensStep:
    """Write tokens to the store; they say in ``extra`` when they expire, and who issued them."""

    tokens: OAuthToken


@attrs.frozen(kw_only=True)
class SaveClientStep:
    """Write a registration to the store; it says whose it is."""

    client_info: OAuthClientInformationFull


@attrs.frozen(kw_only=True)
class CheckResourceStep:
    """Ask the application whether a server may call itself so. Only where it wants to be asked."""

    server_url: str
    resource: str


Step: TypeAlias = (
    HttpStep
    | AuthorizeStep
    | AssertionStep
    | LoadStep
    | SaveTokensStep
    | SaveClientStep
    | CheckResourceStep
)

Flow: TypeAlias = Generator[Step, Any, T]
"""A generator that yields steps, is fed what came of them, and returns its outcome."""
