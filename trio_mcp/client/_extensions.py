"""Client extensions: what a client declares, understands and hears beyond the core protocol."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, Literal, TypeVar

import attrs

from trio_mcp import types
from trio_mcp._checks import (
    check_callable,
    check_class,
    check_items,
    check_kind,
    check_mapping,
    check_text,
)
from trio_mcp._codec import DecodeError, checked_copy, decode, excerpt
from trio_mcp._protocol._meta import check_extension_id
from trio_mcp.errors import LocalError
from trio_mcp.types import CORE_RESULT_TYPES, INTERNAL_ERROR, MODERN_PROTOCOL_VERSIONS
from trio_mcp.types._base import WireModel
from trio_mcp.types._methods import METHODS

from ._results import decode_answer

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from trio_mcp._rpc._repeats import Repeats
    from trio_mcp.types._base import JsonObject
    from trio_mcp.types._revisions import Revision

    from ._session import ClientSession

ClaimedT = TypeVar("ClaimedT", bound="types.Result")
NotifyParamsT = TypeVar("NotifyParamsT", bound=WireModel)

DROPPED: Final = "%s of the server was dropped: %s"
"""What the log says of a notification that is not as its method has it."""

logger: Final = logging.getLogger("trio_mcp.client")


@attrs.frozen(kw_only=True, eq=False)
class ClaimContext:
    """What the resolver of a `ResultClaim` works with.

    Attributes:
      session: Sends what it takes to finish the call.
      tool_name: The tool that was called.
      read_timeout_seconds: What the call was given.

    """

    session: ClientSession
    tool_name: str
    read_timeout_seconds: float | None


@attrs.frozen(kw_only=True, eq=False)
class ResultClaim(Generic[ClaimedT]):
    """One more shape that the result of a tool call may have, told apart by ``resultType``.

    It is in force while its extension is declared, at modern revisions.

    Args:
      result_type: The value of ``resultType``; none of the core protocol's own.
      model: What such a result is read into: a class of `trio_mcp.types.Result`.
      resolve: Finishes the call: takes the result, and returns the tool's own.
      method: What may be answered so.
      protocol_versions: The modern revisions at which it is in force; None for all.

    Raises:
      ValueError: if one of these cannot be.

    """

    result_type: str
    model: type[ClaimedT]
    resolve: Callable[[ClaimedT, ClaimContext], Awaitable[types.CallToolResult]]
    method: Literal["tools/call"] = "tools/call"
    protocol_versions: frozenset[str] | None = None

    def __attrs_post_init__(self) -> None:
        check_text("result_type", self.result_type)
        check_callable("resolve", self.resolve)
        if self.method != "tools/call":
            raise ValueError(f"a claim is on the results of tools/call, not of {self.method!r}")
        if not self.result_type or self.result_type in CORE_RESULT_TYPES:
            raise ValueError(f"the resultType {self.result_type!r} belongs to the core protocol")
        if not (isinstance(self.model, type) and issubclass(self.model, types.Result)):  # pyright: ignore[reportUnnecessaryIsInstance]  # users without a type checker
            raise ValueError(f"{self.model!r} is no class of trio_mcp.types.Result")  # noqa: TRY004 - as in `mcp`
        if issubclass(self.model, (types.CallToolResult, types.InputRequiredResult)):
            raise ValueError(f"{self.model.__name__} is one of the core protocol's")  # noqa: TRY004
        versions = self.protocol_versions
        if versions is not None:
            check_kind("protocol_versions", versions, (frozenset, set))
        if versions is not None and not (versions and versions.issubset(MODERN_PROTOCOL_VERSIONS)):
            raise ValueError(
                "protocol_versions names one or more of "
                f"{', '.join(MODERN_PROTOCOL_VERSIONS)} (None for all), got {sorted(versions)}"
            )

    def is_in_force(self, revision: Revision) -> bool:
        """Whether a session that speaks this revision understands such results."""
        if not revision.has_result_type:
            return False
        return self.protocol_versions is None or revision.version in self.protocol_versions


class UnexpectedClaimedResult(LocalError, RuntimeError):
    """A tool call was answered with an extension's result that its caller did not ask for.

    Call through `Client`, which has the extension finish it, or with ``allow_claimed=True``.

    Attributes:
      result: What came. The server may keep something for it that has to be let go.

    """

    __module__ = "trio_mcp.client"

    CODE: ClassVar[int] = INTERNAL_ERROR

    def __init__(self, result: types.Result) -> None:
        super().__init__(
            f"The server answered with a result of an extension ({type(result).__name__}); call "
            "through Client(extensions=[...]), or pass allow_claimed=True to finish it by hand"
        )
        self.result = result
        self.args = (result,)


@attrs.frozen(kw_only=True, eq=False)
class NotificationBinding(Generic[NotifyParamsT]):
    """Hands notifications that an extension defines to a function, in order, one at a time.

    Args:
      method: The name on the wire. What the core protocol defines never comes here.
      params_type: What the params are read into; notifications that do not fit are logged.
      handler: Awaited with each. It runs behind the connection's reader, and one that lags
          10,000 notifications behind loses the oldest.

    """

    method: str
    params_type: type[NotifyParamsT]
    handler: Callable[[NotifyParamsT], Awaitable[None]]

    def __attrs_post_init__(self) -> None:
        check_text("method", self.method)
        check_class("params_type", self.params_type, WireModel)
        check_callable("handler", self.handler)


class ClientExtension:
    """An extension that a client may be given; override what it needs.

    Everything is asked for once, when the `Client` is made.

    Attributes:
      identifier: A prefix in the manner of a reversed domain, a slash, and a name.

    """

    identifier: str

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        identifier = cls.__dict__.get("identifier")
        if identifier is not None:
            check_extension_id(identifier, cls.__name__)

    def settings(self) -> dict[str, Any]:
        """Return the settings to declare under ``capabilities.extensions``.

        An extension with claims is declared only where one of them is in force.
        """
        return {}

    def claims(self) -> Sequence[ResultClaim[Any]]:
        """Return the results it understands."""
        return ()

    def notifications(self) -> Sequence[NotificationBinding[Any]]:
        """Return the notifications it listens to."""
        return ()


class _Declaration(ClientExtension):
    def __init__(self, identifier: str, settings: dict[str, Any]) -> None:
        self.identifier = identifier
        self._settings = settings

    def settings(self) -> dict[str, Any]:
        return self._settings


def advertise(identifier: str, settings: dict[str, Any] | None = None) -> ClientExtension:
    """Declare an extension, and nothing else: the application itself carries it out.

    Args:
      identifier: As in `ClientExtension`.
      settings: What to declare of it.

    Raises:
      ValueError: if the identifier does not follow the grammar.

    """
    check_extension_id(identifier, "advertise")
    if settings is not None:
        check_mapping("settings", settings)
    return _Declaration(identifier, settings or {})


@attrs.frozen(kw_only=True)
class Extensions:
    """The extensions of one client, checked and laid out for use."""

    settings: Mapping[str, JsonObject] = attrs.field(factory=dict[str, "JsonObject"])
    claims: Mapping[str, Sequence[ResultClaim[Any]]] = attrs.field(
        factory=dict[str, "Sequence[ResultClaim[Any]]"]
    )
    bindings: Sequence[NotificationBinding[Any]] = ()

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
            name = type(extension).__name__
            settings[identifier] = extension.settings()
            check_mapping(f"what {name}.settings() returned", settings[identifier])
            claims[identifier] = extension.claims()
            check_items(
                f"what {name}.claims() returned", claims[identifier], ResultClaim, "a list"
            )
            heard = extension.notifications()
            check_items(
                f"what {name}.notifications() returned", heard, NotificationBinding, "a list"
            )
            bindings += heard
        return cls.checked(settings, claims, bindings)

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

    def declared_at(self, revision: Revision) -> dict[str, JsonObject] | None:
        """Return what to declare to a server of a revision; None for nothing."""
        declared = {
            identifier: settings
            for identifier, settings in self.settings.items()
            if identifier not in self.claims
            or any(claim.is_in_force(revision) for claim in self.claims[identifier])
        }
        return declared or None

    def claim_for(
        self, result_type: object, revision: Revision
    ) -> tuple[str, ResultClaim[Any]] | None:
        """Find the claim on a ``resultType``, and the identifier of its extension."""
        for identifier, claims in self.claims.items():
            for claim in claims:
                if claim.result_type == result_type and claim.is_in_force(revision):
                    return identifier, claim
        return None

    def claim_of(self, result: types.Result) -> ResultClaim[Any]:
        """Find the claim that a result was read by."""
        for claims in self.claims.values():
            for claim in claims:
                if claim.model is type(result) and _kind_of(result) in (None, claim.result_type):
                    return claim
        raise LookupError(f"nothing claims {type(result).__name__}")

    def binding_for(self, method: str) -> NotificationBinding[Any] | None:
        """Find what listens to a notification, unless the core protocol defines it."""
        if method in METHODS:
            return None
        for binding in self.bindings:
            if binding.method == method:
                return binding
        return None


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
