"""The extensions of one client, checked and laid out for use."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import attrs

from trio_mcp import types
from trio_mcp._checks import (
    check_callable,
    check_items,
    check_kind,
    check_mapping,
    check_versions,
)
from trio_mcp._codec import DecodeError, checked_copy, decode, excerpt
from trio_mcp._protocol._meta import check_extension_id
from trio_mcp.types._methods import METHODS

from ._extensions import (
    ClaimedT,
    ClientExtension,
    NotificationBinding,
    NotifyParamsT,
    RequestBinding,
    ResultClaim,
)
from ._results import decode_answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractAsyncContextManager

    from trio_mcp._rpc._repeats import Repeats
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._questions import InterceptRequest
    from ._tool_calls import Intercept

    DeclareFn: TypeAlias = Callable[[types.ClientCapabilities], types.ClientCapabilities]
    OpenLifespan: TypeAlias = Callable[[Any], AbstractAsyncContextManager[Any]]

DROPPED: Final = "%s of the server was dropped: %s"
"""What the log says of a notification that is not as its method has it."""

logger: Final = logging.getLogger("trio_mcp.client")


@attrs.frozen(kw_only=True)
class Extensions:
    """The extensions of one client, checked and laid out for use."""

    settings: Mapping[str, JsonObject] = attrs.field(factory=dict[str, "JsonObject"])
    claims: Mapping[str, Sequence[ResultClaim[Any]]] = attrs.field(
        factory=dict[str, "Sequence[ResultClaim[Any]]"]
    )
    bindings: Sequence[NotificationBinding[Any]] = ()
    versions: Mapping[str, frozenset[str]] = attrs.field(factory=dict[str, "frozenset[str]"])
    interceptors: Sequence[tuple[str, Intercept]] = ()
    question_interceptors: Sequence[tuple[str, InterceptRequest]] = ()
    requests: Mapping[str, RequestBinding[Any]] = attrs.field(
        factory=dict[str, "RequestBinding[Any]"]
    )
    capabilities: Sequence[tuple[str, DeclareFn]] = ()
    lifespans: Mapping[str, OpenLifespan] = attrs.field(factory=dict[str, "OpenLifespan"])

    @classmethod
    def given(
        cls,
        extensions: Extensions
        | Sequence[ClientExtension]
        | Mapping[str, Mapping[str, Any]]
        | None,
        claims: Mapping[str, Sequence[ResultClaim[Any]]] | None,
        bindings: Sequence[NotificationBinding[Any]] | None,
    ) -> Extensions:
        """Lay out what a session was given.

        Raises:
          ValueError: see `checked`.

        """
        if extensions is None or isinstance(extensions, Mapping):
            return cls.checked(extensions, claims, bindings)
        if not isinstance(extensions, Extensions):
            extensions = cls.of(extensions)
        if not claims and not bindings:
            return extensions
        more = cls.checked(
            extensions.settings,
            {**extensions.claims, **(claims or {})},
            [*extensions.bindings, *(bindings or ())],
        )
        return attrs.evolve(extensions, claims=more.claims, bindings=more.bindings)

    @classmethod
    def of(cls, extensions: Sequence[ClientExtension]) -> Extensions:
        """Ask extensions for what they bring.

        Raises:
          ValueError: if an identifier is wrong or given twice, or two claims or two
              listeners are for the same.

        """
        settings: dict[str, JsonObject] = {}
        claims: dict[str, Sequence[ResultClaim[Any]]] = {}
        bindings: list[NotificationBinding[Any]] = []
        check_items("extensions", extensions, ClientExtension, "a list of extensions")
        for extension in extensions:
            identifier = getattr(extension, "identifier", None)
            if isinstance(identifier, str) and identifier in settings:
                raise ValueError(f"the extension {identifier!r} is given twice")
            check_extension_id(identifier, type(extension).__name__)
            assert identifier is not None
            name, declared = _asked(extension, "settings")
            check_mapping(f"what {name}() returned", declared)
            settings[identifier] = declared
            claims[identifier] = _list_of(ResultClaim, extension, "claims")
            bindings += _list_of(NotificationBinding, extension, "notifications")
        return attrs.evolve(
            cls.checked(settings, claims, bindings),
            versions=_versions_of(extensions),
            interceptors=_hooks("intercept_tool_call", extensions),
            question_interceptors=_hooks("intercept_request", extensions),
            requests=_requests_of(extensions),
            capabilities=_hooks("capabilities", extensions),
            lifespans=_lifespans_of(extensions),
        )

    @classmethod
    def checked(
        cls,
        settings: Mapping[str, Mapping[str, Any]] | None,
        claims: Mapping[str, Sequence[ResultClaim[Any]]] | None,
        bindings: Sequence[NotificationBinding[Any]] | None,
    ) -> Extensions:
        """Check what a session was given.

        Raises:
          ValueError: see `of`; also for claims of an extension that is not declared.

        """
        check_mapping("extensions", settings or {}, Mapping)
        check_mapping("result_claims", claims or {}, Sequence)
        check_items("notification_bindings", bindings or (), NotificationBinding, "a list")
        own: dict[str, JsonObject] = {}
        for identifier, declared in (settings or {}).items():
            check_extension_id(identifier, "extensions")
            own[identifier] = checked_copy(dict(declared), f"settings of {identifier}")
        claimed: set[str] = set()
        for identifier, each in (claims or {}).items():
            if identifier not in own:
                raise ValueError(f"claims of {identifier!r}, which is not among the extensions")
            check_items(f"result_claims[{identifier!r}]", each, ResultClaim, "a list")
            for claim in each:
                if claim.result_type in claimed:
                    raise ValueError(f"two claims on the resultType {claim.result_type!r}")
                claimed.add(claim.result_type)
        methods = [binding.method for binding in bindings or ()]
        if len(set(methods)) < len(methods):
            raise ValueError(f"a notification is bound twice: {', '.join(sorted(methods))}")
        kept = {identifier: tuple(each) for identifier, each in (claims or {}).items() if each}
        return cls(settings=own, claims=kept, bindings=tuple(bindings or ()))

    def also_declaring(self, settings: Mapping[str, Mapping[str, Any]]) -> Extensions:
        """Declare further extensions; what is declared of one of them already counts."""
        return attrs.evolve(
            self, settings=self.checked({**settings, **self.settings}, None, None).settings
        )

    def declare(self, capabilities: types.ClientCapabilities) -> types.ClientCapabilities:
        """Have extensions add to what a client declares.

        Raises:
          TypeError: if one of them returns something else.

        """
        declared = capabilities
        for name, declare in self.capabilities:
            declared = declare(declared)
            check_kind(f"what {name} returned", declared, types.ClientCapabilities)
        return declared.evolve(extensions=capabilities.extensions)

    def declared_at(self, revision: Revision) -> dict[str, JsonObject] | None:
        """Return what to declare to a server of a revision; None for nothing."""
        declared = {
            identifier: settings
            for identifier, settings in self.settings.items()
            if self._is_for(identifier, revision)
            and (
                identifier not in self.claims
                or any(claim.is_in_force(revision) for claim in self.claims[identifier])
            )
        }
        return declared or None

    def _is_for(self, identifier: str, revision: Revision) -> bool:
        versions = self.versions.get(identifier)
        return versions is None or revision.version in versions

    def claim_for(
        self, result_type: object, revision: Revision
    ) -> tuple[str, ResultClaim[Any]] | None:
        """Find the claim on a ``resultType``, and the identifier of its extension."""
        for identifier, claims in self.claims.items():
            if not self._is_for(identifier, revision):
                continue
            for claim in claims:
                if claim.result_type == result_type and claim.is_in_force(revision):
                    return identifier, claim
        return None

    def claim_of(self, result: types.Result) -> ResultClaim[Any] | None:
        """Find the claim that a result was read by, or could have been."""
        for claims in self.claims.values():
            for claim in claims:
                if claim.model is type(result) and _kind_of(result) in (None, claim.result_type):
                    return claim
        return None

    def knows(self, result: types.Result) -> bool:
        """Whether a call may come to a result: the core protocol's, or one that is claimed."""
        core = (types.CallToolResult, types.InputRequiredResult)
        return isinstance(result, core) or self.claim_of(result) is not None

    def request_for(self, method: str, revision: Revision) -> RequestBinding[Any] | None:
        """Find what serves a request of the server that is none of the core protocol's."""
        binding = self.requests.get(method)
        return binding if binding is not None and binding.is_in_force(revision) else None

    def binding_for(self, method: str) -> NotificationBinding[Any] | None:
        """Find what listens to a notification, unless the core protocol defines it."""
        if method in METHODS:
            return None
        for binding in self.bindings:
            if binding.method == method:
                return binding
        return None


def _overriding(hook: str, extensions: Sequence[ClientExtension]) -> list[ClientExtension]:
    """Find those for which a hook is to be called at all."""
    own = getattr(ClientExtension, hook)
    return [each for each in extensions if getattr(type(each), hook) is not own]


def _hooks(
    hook: str, extensions: Sequence[ClientExtension]
) -> list[tuple[str, Callable[..., Any]]]:
    """Give the functions of a hook, each with what it is called in errors."""
    found = [
        (f"{type(each).__name__}.{hook}", getattr(each, hook))
        for each in _overriding(hook, extensions)
    ]
    for name, function in found:
        check_callable(name, function)
    return found


def _asked(extension: ClientExtension, hook: str) -> tuple[str, Any]:
    """Give what a hook is called in errors, and what it returned."""
    name, function = f"{type(extension).__name__}.{hook}", getattr(extension, hook)
    check_callable(name, function)
    return name, function()


def _list_of(kind: type, extension: ClientExtension, hook: str) -> Sequence[Any]:
    name, brought = _asked(extension, hook)
    check_items(f"what {name}() returned", brought, kind, "a list")
    listed: Sequence[Any] = brought
    return listed


def _lifespans_of(extensions: Sequence[ClientExtension]) -> dict[str, OpenLifespan]:
    for each in extensions:
        check_callable(f"{type(each).__name__}.lifespan", each.lifespan)
    return {each.identifier: each.lifespan for each in _overriding("lifespan", extensions)}


def _versions_of(extensions: Sequence[ClientExtension]) -> dict[str, frozenset[str]]:
    found: dict[str, frozenset[str]] = {}
    for each in extensions:
        versions = each.protocol_versions
        if versions is None:
            continue
        argument = f"{each.identifier}: protocol_versions"
        check_versions(argument, versions, types.KNOWN_PROTOCOL_VERSIONS)
        found[each.identifier] = frozenset(versions)
    return found


def _requests_of(extensions: Sequence[ClientExtension]) -> dict[str, RequestBinding[Any]]:
    bindings: dict[str, RequestBinding[Any]] = {}
    for extension in extensions:
        for binding in _list_of(RequestBinding, extension, "requests"):
            if binding.method in bindings:
                raise ValueError(f"the request {binding.method!r} is served twice")
            bindings[binding.method] = binding
    return bindings


def _kind_of(result: types.Result) -> object:
    kind: object = getattr(result, "result_type", None)
    return result.extra.get("resultType") if kind is None else kind


def read_claimed(claim: ResultClaim[ClaimedT], result: JsonObject, revision: Revision) -> ClaimedT:
    """Read a result that an extension claims.

    Raises:
      InvalidResponse: if it is not of the claim's model.

    """
    return decode_answer(claim.method, result, claim.model, revision)


def read_notification(
    binding: NotificationBinding[NotifyParamsT],
    params: JsonObject,
    revision: Revision,
    repeats: Repeats,
) -> NotifyParamsT | None:
    """Read what an extension's notification says; None, and a log line, if it does not fit."""
    try:
        return decode(binding.params_type, params, revision, where="params")
    except (DecodeError, ValueError) as exc:
        repeats.warn(logger, DROPPED, binding.method, excerpt(str(exc)))
        return None
