"""Signed Sources: each set's signed state is read first, and every other document must have the hash that it lists."""

from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from typing import Any

from pelican_resourcesync.http import shown
from pelican_resourcesync.protocol import parse_datetime
from pelican_resourcesync.source.resource import uri_of
from pelican_resourcesync.source.source import OpenDocument, Source, not_signed
from pelican_resourcesync.system.signing import RELATION, SignatureError, can_verify, signer, verify_state
from pelican_resourcesync.system.strict_json import parse_json

#: What is remembered: the trusted keys, and which state of each set was verified last.
VERIFIED = "verified"
#: What is remembered: whether the state of the copy was lost, and is not complete again.
REBUILT = "rebuilt"

_LONGEST = 200  # characters of a reason


class Signatures:
    """Verifies the sets of a Source, one after the other; then only documents that their states list can be read.

    The trusted keys are those of the options, else those remembered, else the first ones seen.
    """

    def __init__(self, source: Source) -> None:
        source.signed = None
        self._source = source
        known = source.memory.get(VERIFIED) or {"keys": [], "states": {}}
        self._known: list[str] = known["keys"]
        self._before: dict[str, list[Any]] = known["states"]
        self._trusted = [*source.options.key] or self._known
        self._states: dict[str, list[Any]] = {}
        self._keys: list[str] = []
        self._hashes: dict[str, str] = {}

    def verify(self, uri: str, capability_list: OpenDocument | None) -> int | None:
        """Verify a set by its Capability List, which was read, or by another document; return its generation.

        It is None if the set is not signed, and none of the known keys should have signed it.
        Raises `SignatureError` if it is not signed by a trusted key, or older than last time or than the options allow.
        """
        links = capability_list.document.links if capability_list else ()
        href = next((link.href for link in links if link.rel == RELATION), None)
        if href is None or capability_list is None:
            if self._trusted:
                message = f"{shown(uri)} is not signed, and should be with the key {self._trusted[0]}: nothing was read"
                raise SignatureError(message)
            return None
        if self._source.memory.get(REBUILT) and not self._source.options.key:
            key = f": it was {self._known[0]}" if self._known else ""
            message = (
                f"{shown(uri)} is signed, and the state of the copy was lost, so a key is only trusted if you give it: "
                f"add --key KEY, with the key that the publisher names{key}"
            )
            raise SignatureError(message)
        if not self._trusted and not can_verify():
            return None
        state = uri_of(href, uri)
        data = self._source.whole(state)
        try:
            key, generation, documents = parse_json(data, partial(self._verified, state, data))
        except ValueError as error:
            message = f"{shown(state)} cannot be read ({str(error)[:_LONGEST]}), so its signature cannot be verified"
            raise SignatureError(message) from error
        if documents.get(uri) != capability_list.sha256():
            raise not_signed(uri)
        self._keys.append(key)
        self._hashes.update(documents)
        return generation

    def _verified(self, state: str, data: bytes, content: dict[str, Any]) -> tuple[str, int, dict[str, str]]:
        """Return the key that signed a state, its generation, and the SHA-256 of its documents."""
        key = self._signer(content, state)
        self._require_current(state, content, data)
        hashes = {**content["superseded"], **content["documents"]}
        documents = {uri_of(f"{content['siteurl']}/{path}", state): str(digest) for path, digest in hashes.items()}
        return key, int(content["generation"]), documents

    def finish(self) -> None:
        """Remember what was verified. Raises `SignatureError` if a set that was verified before was not found."""
        options = self._source.options
        lost = self._before.keys() - self._states.keys()
        if lost and not options.set and not options.accept_older:
            message = (
                f"the set of {shown(min(lost))} is no longer described, and a Source Description is not signed: if it "
                "is right that it is gone, add --accept-older"
            )
            raise SignatureError(message)
        if self._states:
            keys, states = self._keys, self._states
            if options.set:  # others, which were not read, may have other keys
                keys, states = [*keys, *self._known], {**self._before, **states}
            self._source.memory.set(VERIFIED, {"keys": [*dict.fromkeys(keys)], "states": states})
            self._source.signed = self._hashes

    def _signer(self, content: dict[str, Any], state: str) -> str:
        """Return the key that signed a state, if it is trusted or has replaced one that is."""
        last = SignatureError("")
        for key in self._trusted or [signer(content)]:
            try:
                return verify_state(content, key, shown(state))
            except SignatureError as error:
                last = error
        raise last

    def _require_current(self, state: str, content: dict[str, Any], data: bytes) -> None:
        """Raise `SignatureError` if a state is older than the one verified last, or than the options allow."""
        place = [int(content["restart_number"]), int(content["generation"])]
        *before, digest = self._before.get(state) or [0, -1, ""]
        self._states[state] = [*place, sha256(data).hexdigest()]
        if not self._source.options.accept_older:
            if place < before:
                message = f"{shown(state)} is older than the one read last: add --accept-older if that is right"
                raise SignatureError(message)
            if place == before and self._states[state][-1] != digest:
                message = (
                    f"{shown(state)} has the same generation as the one read last, but different contents: add "
                    "--accept-older if the publisher says that this is right"
                )
                raise SignatureError(message)
        age = self._source.options.max_age
        if age and parse_datetime(content["at"]) < datetime.now(UTC) - timedelta(seconds=age):
            message = f"{shown(state)} is of {content['at']}, which is older than --max-age allows"
            raise SignatureError(message)
