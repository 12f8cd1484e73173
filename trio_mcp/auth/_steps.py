"""The flow of OAuth for clients, as a machine without I/O.

What drives it sends requests to one server, and keeps one `Memory` for it. For each request it
makes an `Attempt`, and then, as often as the request is sent::

    if needs_preparing(memory, config):
        run(prepare(memory, config))              # reads the store; refreshes what has expired
    headers = sign(memory, config, attempt)       # put into the request
    answer = send the request
    if note_answer(memory, config, attempt, answer):
        again = run(answer_challenge(memory, config, attempt, answer))

Nothing is cached but in memory, and no clock is read but `FlowConfig.now`. ``sign`` and
``note_answer`` may be called at any time; of `prepare` and `answer_challenge` one at a time works
on a memory, and whoever had to wait for another's starts with its own all the same: what that
has got is used, and nothing is asked for twice.

======================  =======================================================================
module                  knows
======================  =======================================================================
``_step_types``         what is yielded and fed
``_memory``             what the application says, and what has been found out
``_steps_discovery``    where metadata is, and whom to believe
``_steps_registration`` how to get a client id
``_steps_client_auth``  how a client proves who it is
``_steps_grants``       each grant, up to its token
``_steps_tokens``       token endpoints, refreshing, the store
``_steps_answers``      how to tell what was wrong
======================  =======================================================================
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from trio_mcp.errors import OAuthFlowError
from trio_mcp.transports.http._http_errors import shown

from ._challenges import OAUTH_SCHEMES, oauth_params, parse_challenges
from ._dpop_proof import USE_DPOP_NONCE
from ._identifiers import is_same_origin, issuers_match, origin_of
from ._memory import Attempt, CodeGrant, StepUps
from ._scopes import OFFLINE_ACCESS, choose_scope, split_scopes, union_scopes
from ._steps_answers import told
from ._steps_discovery import discover
from ._steps_grants import get_token
from ._steps_tokens import MAX_NONCES, can_refresh, keep_nonce, load, refresh, save

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ._challenges import Challenge
    from ._memory import FlowConfig, Memory
    from ._step_types import Flow, HttpAnswer

MAX_STEP_UPS: Final = 2
"""How often more scopes are asked for, for one operation, before its refusal is final."""

STEP_UPS_FORGOTTEN: Final = 300.0
"""Seconds after which a refused operation may ask again: a person may have got more rights."""

MAX_RESENT: Final = 3
"""How often one request is sent again since another one has got a new token meanwhile."""

_MAX_OPERATIONS: Final = 256


def needs_preparing(memory: Memory, config: FlowConfig) -> bool:
    """Tell whether `prepare` has something to do."""
    unsaved = memory.tokens_unsaved or memory.unsaved_client is not None
    return not memory.loaded or unsaved or _can_renew(memory, config)


def _can_renew(memory: Memory, config: FlowConfig) -> bool:
    if memory.tokens is None or not memory.has_expired(config.now()):
        return False
    if memory.issuer is None:
        # In a fresh process: whose they are is known, and where that is can be found out.
        has_means = not isinstance(config.grant, CodeGrant) or memory.tokens.refresh_token
        return bool(memory.token_issuer and has_means) and not memory.found_nothing
    if not issuers_match(memory.token_issuer or "", memory.issuer):
        return False
    return not isinstance(config.grant, CodeGrant) or can_refresh(memory, config)


def prepare(memory: Memory, config: FlowConfig) -> Flow[None]:
    """Do what comes before a request: read the store, get a token in place of one that expired.

    Raises:
      OAuthFlowError: if that did not work this time. If the token can never be renewed there is
        none afterwards, and the server's challenge begins the flow.

    """
    if not memory.loaded:
        yield from load(memory, config)
    yield from save(memory)
    if not _can_renew(memory, config):
        return
    scope = memory.tokens.scope if memory.tokens is not None else None
    if memory.issuer is None:
        try:
            yield from discover(memory, config, Attempt("POST", config.server_url), {})
        except OAuthFlowError:
            memory.found_nothing = True
            return  # the server's challenge may lead to it, or it wants no token
        if not _can_renew(memory, config):
            return  # of an authorization server that the server no longer takes tokens of
    if not isinstance(config.grant, CodeGrant):
        yield from get_token(memory, config, memory.asked or scope)
    elif not (yield from refresh(memory, config)):
        memory.drop_tokens()


def sign(memory: Memory, config: FlowConfig, attempt: Attempt) -> dict[str, str]:
    """Give the headers for one sending; none without a token, and none for another origin."""
    tokens, attempt.token = memory.tokens, None
    if tokens is None or not is_same_origin(attempt.url, config.server_url):
        return {}
    # What was got for this very request is tried, however short it is said to last.
    is_for_this = attempt.refreshed or attempt.logins or attempt.step_ups
    if not is_for_this and memory.has_expired(config.now()):
        return {}
    attempt.token = tokens.access_token
    headers = {"Authorization": f"{tokens.token_type} {tokens.access_token}"}
    if config.dpop is not None:
        headers["DPoP"] = config.dpop.proof(
            attempt.method,
            attempt.url,
            now=config.now(),
            nonce=memory.nonces.get(origin_of(attempt.url)),
            access_token=tokens.access_token,
            content=attempt.content,
        )
    return headers


def note_answer(memory: Memory, config: FlowConfig, attempt: Attempt, answer: HttpAnswer) -> bool:
    """Look at the head of each answer of the server; tell whether it is to be answered."""
    if not is_same_origin(attempt.url, config.server_url):
        return False
    keep_nonce(memory, attempt.url, answer)
    if answer.status < 400:
        memory.step_ups.pop(_operation(attempt), None)
        return False
    if answer.status == 403:
        return "insufficient_scope" in _errors_of(answer)
    return answer.status == 401


def challenge_of(answer: HttpAnswer) -> dict[str, str]:
    """Read what an answer's challenges of OAuth say."""
    return oauth_params(_challenges_of(answer))


def _errors_of(answer: HttpAnswer) -> set[str]:
    """Give the errors of all challenges: a server that takes both kinds of tokens says two."""
    known = (each for each in _challenges_of(answer) if each.is_scheme(*OAUTH_SCHEMES))
    return {each.params["error"] for each in known if "error" in each.params}


def _challenges_of(answer: HttpAnswer) -> list[Challenge]:
    return parse_challenges([answer.headers.get("WWW-Authenticate") or ""])


def answer_challenge(
    memory: Memory, config: FlowConfig, attempt: Attempt, answer: HttpAnswer
) -> Flow[bool]:
    """Do what a server's 401 or 403 asks for.

    Returns:
      Whether to sign and send the request again. If not, the answer is the server's last word.

    Raises:
      OAuthFlowError: if no token is to be got that the server takes.

    """
    if not note_answer(memory, config, attempt, answer):
        return False
    challenge = challenge_of(answer)
    if answer.status == 401 and USE_DPOP_NONCE in _errors_of(answer) and config.dpop:
        return _send_with_nonce(attempt, answer)
    if not memory.loaded:
        yield from load(memory, config)
    if _has_another_token(memory, config, attempt):
        attempt.resent += 1
        return True
    if answer.status == 403:
        yield from _step_up(memory, config, attempt, challenge)
        return True
    yield from discover(memory, config, attempt, challenge)
    if not attempt.refreshed and not attempt.logins and _may_refresh(memory, config):
        attempt.refreshed = True
        if (yield from refresh(memory, config)):
            return True
    if attempt.logins:
        _refuse(memory, config, attempt, challenge)
    attempt.logins += 1
    yield from get_token(memory, config, _scope_for(memory, config, challenge))
    return True


def _send_with_nonce(attempt: Attempt, answer: HttpAnswer) -> bool:
    attempt.nonces += 1
    if answer.headers.get("DPoP-Nonce") is None:
        raise OAuthFlowError(
            f"The server {shown(attempt.url)!r:.200} asks for a nonce of DPoP, and gives none"
        )
    if attempt.nonces > MAX_NONCES:
        raise OAuthFlowError(
            f"The server {shown(attempt.url)!r:.200} asks for another nonce of DPoP each time"
        )
    return True


def _has_another_token(memory: Memory, config: FlowConfig, attempt: Attempt) -> bool:
    tokens = memory.tokens
    return (
        tokens is not None
        and tokens.access_token != attempt.token
        and attempt.resent < MAX_RESENT
        and not memory.has_expired(config.now())
    )


def _may_refresh(memory: Memory, config: FlowConfig) -> bool:
    return isinstance(config.grant, CodeGrant) and can_refresh(memory, config)


def _refuse(
    memory: Memory, config: FlowConfig, attempt: Attempt, challenge: Mapping[str, str]
) -> None:
    memory.drop_tokens()
    why = told(challenge.get("error"), challenge.get("error_description"), [attempt.token])
    raise OAuthFlowError(
        f"The server {shown(config.server_url)!r:.200} does not take the token that "
        f"{memory.issuer!r:.200} has just issued for it{why}"
    )


def _scope_for(memory: Memory, config: FlowConfig, challenge: Mapping[str, str]) -> str | None:
    """Choose what to ask for; what was asked for before in this process is not lost."""
    chosen = choose_scope(challenge.get("scope"), config.client_metadata.scope, memory.prm)
    if not challenge.get("scope") and not config.client_metadata.scope:
        chosen = _without_unlisted_offline_access(memory, chosen)
    return union_scopes(memory.asked, chosen) if memory.asked is not None else chosen


def _without_unlisted_offline_access(memory: Memory, scope: str | None) -> str | None:
    """Leave out what servers should not publish, unless the authorization server knows it."""
    known = memory.asm.scopes_supported if memory.asm is not None else None
    if known is None or OFFLINE_ACCESS in known:
        return scope
    return " ".join(each for each in split_scopes(scope) if each != OFFLINE_ACCESS) or None


# More scopes


def _step_up(
    memory: Memory, config: FlowConfig, attempt: Attempt, challenge: Mapping[str, str]
) -> Flow[None]:
    """Ask for what was asked for before and for what an operation needs."""
    if memory.issuer is None:
        yield from discover(memory, config, attempt, challenge)
    needed = choose_scope(challenge.get("scope"), None, memory.prm)
    granted = memory.tokens.scope if memory.tokens is not None else None
    before = union_scopes(memory.asked, granted)
    wanted = union_scopes(before, needed)
    operation, now = _operation(attempt), config.now()
    _check_limit(memory, config, attempt, needed)
    attempt.step_ups += 1
    yield from get_token(memory, config, wanted)
    earlier = memory.step_ups.pop(operation, None)
    memory.step_ups[operation] = StepUps(
        count=(earlier.count if earlier else 0) + 1,
        asked=frozenset(split_scopes(wanted)),
        at=now,
    )
    while len(memory.step_ups) > _MAX_OPERATIONS:
        del memory.step_ups[next(iter(memory.step_ups))]


def _check_limit(memory: Memory, config: FlowConfig, attempt: Attempt, needed: str | None) -> None:
    operation = _operation(attempt)
    earlier = memory.step_ups.get(operation)
    if earlier is not None and config.now() - earlier.at > STEP_UPS_FORGOTTEN:
        del memory.step_ups[operation]
        earlier = None
    is_final = earlier is not None and (
        earlier.count >= MAX_STEP_UPS or earlier.asked.issuperset(split_scopes(needed))
    )
    if is_final or attempt.step_ups >= MAX_STEP_UPS:
        raise OAuthFlowError(
            f"The server {shown(config.server_url)!r:.200} wants the scopes "
            f"{needed or ''!r:.200} for {operation[1]!r:.100}, which did not suffice although "
            "they were asked for"
        )


def _operation(attempt: Attempt) -> tuple[str, str]:
    return attempt.url, attempt.operation or attempt.method
