"""Sealing a state that the client keeps: what it cannot read, and cannot change unnoticed."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
from typing import TYPE_CHECKING, Final, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

MIN_KEY_BYTES: Final = 32
"""As many as the AES-256 key that is derived from it has."""

_INFO: Final = b"trio-mcp request state 1, AES-256-GCM"
_KEY_ID_BYTES: Final = 4
_NONCE_BYTES: Final = 12
_TAG_BYTES: Final = 16
_PREFIX: Final = "s1."


class InvalidRequestState(Exception):
    """A state that was not sealed here, or not like this. Only the log tells why."""

    __module__ = "trio_mcp.server"


class RequestStateCodec(Protocol):
    """Seals bytes into text and opens them again.

    Whoever writes one owes two things: ``unseal(seal(payload))`` gives the payload, and
    `unseal` raises `InvalidRequestState` for every text that `seal` did not make.
    """

    def seal(self, payload: bytes) -> str:
        """Seal a payload."""
        ...

    def unseal(self, token: str) -> bytes:
        """Open what `seal` made.

        Raises:
          InvalidRequestState: for anything else.

        """
        ...


class AESGCMRequestStateCodec:
    """Encrypts and authenticates by AES-256-GCM, with a key derived by HKDF-SHA256.

    Args:
      keys: Secrets of at least 32 bytes; text stands for its UTF-8. The first one seals, all of
          them open: a new key is put in front, and the old one is taken out once the last
          state that it sealed has expired.

    Raises:
      TypeError: if a key is neither bytes nor text.
      ValueError: if there is no key, or one is too short, or one is there twice.

    """

    def __init__(self, keys: Sequence[bytes | bytearray | str]) -> None:
        if isinstance(keys, (str, bytes, bytearray)):
            raise TypeError("keys is a list of keys, not one key")
        secrets = [_secret(each, index) for index, each in enumerate(keys)]
        if not secrets:
            raise ValueError("keys is empty; at least one is needed")
        self._secrets = {_key_id(each): each for each in secrets}
        if len(self._secrets) < len(secrets):
            raise ValueError("keys has the same key twice")
        self._sealing = _key_id(secrets[0])
        self._ciphers: dict[bytes, AESGCM] = {}

    def seal(self, payload: bytes) -> str:
        """Seal a payload; each time it looks different."""
        nonce = os.urandom(_NONCE_BYTES)
        sealed = self._cipher(self._sealing).encrypt(nonce, payload, self._sealing)
        token = base64.urlsafe_b64encode(self._sealing + nonce + sealed)
        return _PREFIX + token.rstrip(b"=").decode()

    def unseal(self, token: str) -> bytes:
        """Open what `seal` made with one of the keys.

        Raises:
          InvalidRequestState: for anything else.

        """
        from cryptography.exceptions import InvalidTag  # noqa: PLC0415 - few servers need it

        raw = _decoded(token)
        key_id, nonce = raw[:_KEY_ID_BYTES], raw[_KEY_ID_BYTES : _KEY_ID_BYTES + _NONCE_BYTES]
        if key_id not in self._secrets:
            raise InvalidRequestState("it was sealed with a key that is not known")
        try:
            return self._cipher(key_id).decrypt(nonce, raw[_KEY_ID_BYTES + _NONCE_BYTES :], key_id)
        except InvalidTag:
            raise InvalidRequestState("the seal is broken") from None

    def _cipher(self, key_id: bytes) -> AESGCM:
        found = self._ciphers.get(key_id)
        if found is None:
            # Loads 15 MiB of OpenSSL: on the first state and not with the server.
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415
            from cryptography.hazmat.primitives.hashes import SHA256  # noqa: PLC0415
            from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415

            derive = HKDF(algorithm=SHA256(), length=MIN_KEY_BYTES, salt=None, info=_INFO)
            found = self._ciphers[key_id] = AESGCM(derive.derive(self._secrets[key_id]))
        return found


def _secret(key: object, index: int) -> bytes:
    if isinstance(key, str):
        key = key.encode()
    if not isinstance(key, (bytes, bytearray)):
        raise TypeError(f"keys[{index}] must be bytes or text, not {type(key).__name__}")
    if len(key) < MIN_KEY_BYTES:
        raise ValueError(f"keys[{index}] has {len(key)} bytes; {MIN_KEY_BYTES} are the least")
    return bytes(key)


def _key_id(secret: bytes) -> bytes:
    return hmac.digest(secret, _INFO + b", key id", hashlib.sha256)[:_KEY_ID_BYTES]


def _decoded(token: str) -> bytes:
    body = token.removeprefix(_PREFIX)
    if body == token:
        raise InvalidRequestState("it is no state of ours")
    try:
        raw = base64.b64decode(body.encode("ascii") + b"=" * (-len(body) % 4), b"-_", True)
    except (binascii.Error, ValueError):
        raise InvalidRequestState("it is not Base64") from None
    # Of the spellings that a lenient decoder takes for the same bytes only ours will do.
    if base64.urlsafe_b64encode(raw).rstrip(b"=").decode() != body:
        raise InvalidRequestState("it is not spelled as it was sealed")
    if len(raw) < _KEY_ID_BYTES + _NONCE_BYTES + _TAG_BYTES:
        raise InvalidRequestState("it is too short")
    return raw
