"""Signatures of publications: Ed25519 keys as text, and the signature inside a `publication.json`.

The state of a set lists the SHA-256 of each of its documents, and the documents list that of each resource, so one
signature covers a whole publication. A key that replaces another carries the old key's signature of the new one, so
that Destinations which know only the old key accept the new one.
"""

import json
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pelican_resourcesync.errors import ResourceSyncError, SettingsError
from pelican_resourcesync.system.extras import extra

#: The environment variable with the private key, and the one that lets one publication continue an unsigned one.
ENVIRONMENT, ADOPT = "RESOURCESYNC_SIGNING_KEY", "RESOURCESYNC_SIGN_EXISTING"

#: The relation of a Capability List to the signed state of its set (RFC 8631), and the state's media type.
RELATION, JSON = "status", "application/json"

_PUBLIC, _PRIVATE = "ed25519:", "ed25519-private:"
_PUBLIC_KEY, _PRIVATE_KEY = (re.compile(prefix + "[A-Za-z0-9_-]{43}") for prefix in (_PUBLIC, _PRIVATE))
_MOST_KEYS = 20  # that a key may have replaced, one after the other
#: What a signature is of, so that none can be passed off as one of something else.
_STATE, _KEY = b"pelican-resourcesync state\n", b"pelican-resourcesync key\n"
_UNSIGNED = "it has no signature"
_OTHER_KEY = "it is signed with another key, which does not replace this one"
_ALTERED = "its signature does not match its content"


class SignatureError(ResourceSyncError):
    """Raised when a publication is not signed by the expected key; the message says which file, and what to do."""


class Replaced(NamedTuple):
    """A former public key, and its signature of the key that replaced it."""

    key: str
    signature: str

    def __str__(self) -> str:
        return f"{self.key}={self.signature}"

    def verify(self, new: str) -> None:
        """Raise `SignatureError` unless the `new` public key is the one that replaced it."""
        _verify(self.key, self.signature, _KEY + new.encode())


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key, with the keys that it replaced, oldest first. Its text is a secret."""

    _seed: bytes
    replaced: tuple[Replaced, ...] = ()

    @classmethod
    def generate(cls, old: "SigningKey | None" = None) -> "SigningKey":
        """Return a new key, which replaces `old` if that is given."""
        key = cls(os.urandom(32))
        return key if old is None else old.replaced_by(key)

    def replaced_by(self, key: "SigningKey") -> "SigningKey":
        """Return `key` with this one's signature of it."""
        return replace(key, replaced=(*self.replaced, Replaced(self.public, self._sign(_KEY + key.public.encode()))))

    @classmethod
    def parse(cls, text: str) -> "SigningKey":
        """Return the key with a text. Raises `SettingsError`, which does not contain it."""
        seed, *pairs = text.strip().split(",")
        try:
            if not _PRIVATE_KEY.fullmatch(seed):
                raise SignatureError  # noqa: TRY301 - as any other reason below
            replaced = tuple(Replaced(key, signature) for key, signature in (pair.split("=") for pair in pairs))
            key = cls(_decoded(seed.removeprefix(_PRIVATE)), replaced)
            verify_keys(key.public, replaced, replaced[0].key if replaced else key.public)
        except (ValueError, SignatureError) as error:
            message = f"{ENVIRONMENT} is not a key that `pelican-resourcesync key` printed: copy the whole line"
            raise SettingsError(message) from error
        return key

    def __str__(self) -> str:
        return ",".join([_PRIVATE + _encoded(self._seed), *map(str, self.replaced)])

    def __repr__(self) -> str:
        return f"SigningKey({self.public})"

    @property
    def public(self) -> str:
        """The public key."""
        return _PUBLIC + _encoded(self._private().public_key().public_bytes_raw())

    @property
    def keys(self) -> tuple[str, ...]:
        """All public keys whose publications this one continues: those that it replaced, and its own."""
        return (*(former.key for former in self.replaced), self.public)

    def sign(self, content: Mapping[str, Any]) -> dict[str, Any]:
        """Return the content of a state with its signature."""
        replaced = [[former.key, former.signature] for former in self.replaced]
        unsigned = {**content, "signature": {"key": self.public, "replaced": replaced}}
        return {**unsigned, "signature": {**unsigned["signature"], "value": self._sign(_STATE + _canonical(unsigned))}}

    def _private(self) -> Any:
        return _ed25519().Ed25519PrivateKey.from_private_bytes(self._seed)

    def _sign(self, data: bytes) -> str:
        return _encoded(self._private().sign(data))


def signing_key() -> SigningKey | None:
    """Return the key in the environment, if there is one. Raises `SettingsError` if it cannot be used."""
    text = os.environ.get(ENVIRONMENT, "")
    return SigningKey.parse(text) if text.strip() else None


def signer(content: Mapping[str, Any]) -> str:
    """Return the public key that the content of a state says it is signed with, which proves nothing yet, or `""`."""
    signature = content.get("signature")
    return str(signature.get("key", "")) if isinstance(signature, dict) else ""


def verify_state(content: Mapping[str, Any], trusted: str, name: str) -> str:
    """Return the key that signed the content of a state: the one `trusted`, or one that replaced it.

    Raises `SignatureError`, with the `name` of the file, for any other content.
    """
    signature = content.get("signature")
    try:
        if not isinstance(signature, dict):
            raise SignatureError(_UNSIGNED)  # noqa: TRY301 - the reason of the one below
        key, value = signature["key"], signature["value"]
        replaced = [Replaced(old, by) for old, by in signature["replaced"]]
        verify_keys(key, replaced, trusted)
        rest = {name: part for name, part in signature.items() if name != "value"}
        _verify(key, value, _STATE + _canonical({**content, "signature": rest}))
    except (KeyError, TypeError, ValueError, AttributeError, SignatureError) as error:
        why = str(error) if isinstance(error, SignatureError) else "its signature cannot be read"
        message = f"{name} is not signed with the key {trusted}: {why}"
        raise SignatureError(message) from error
    return str(key)


def verify_keys(key: str, replaced: "list[Replaced] | tuple[Replaced, ...]", trusted: str) -> None:
    """Raise `SignatureError` if `key` is neither the one `trusted` nor one that replaced it, step by step."""
    keys = [*(former.key for former in replaced), key]
    if trusted not in keys or len(keys) > _MOST_KEYS:
        raise SignatureError(_OTHER_KEY)
    begin = keys.index(trusted)
    for former, new in zip(replaced[begin:], keys[begin + 1 :], strict=True):
        former.verify(new)


def parse_public(text: str) -> str:
    """Return a public key. Raises `ValueError` if a text is not one."""
    if not _PUBLIC_KEY.fullmatch(text):
        message = f"{text[:100]!a} is not a valid public key: write {_PUBLIC!r} and 43 more characters"
        raise ValueError(message)
    return text


def _verify(key: str, signature: str, data: bytes) -> None:
    from cryptography.exceptions import InvalidSignature

    public = _ed25519().Ed25519PublicKey.from_public_bytes(_decoded(parse_public(key).removeprefix(_PUBLIC)))
    try:
        public.verify(_decoded(signature), data)
    except InvalidSignature:
        raise SignatureError(_ALTERED) from None


def can_verify() -> bool:
    """Return whether signatures can be verified: whether the extra `sign` is installed."""
    try:
        _ed25519()
    except SettingsError:
        return False
    return True


def _ed25519() -> Any:
    with extra("sign", "signatures need an extra"):
        from cryptography.hazmat.primitives.asymmetric import ed25519
    return ed25519


def _canonical(content: Mapping[str, Any]) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True).encode()


def _encoded(data: bytes) -> str:
    return urlsafe_b64encode(data).decode().rstrip("=")


def _decoded(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
