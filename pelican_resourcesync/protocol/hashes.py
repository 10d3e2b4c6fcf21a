"""The items of the `hash` attribute (X08)."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pelican_resourcesync.errors import DocumentError

_ITEM = re.compile(r"([^\s:]+):\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hash:
    """One digest of a representation, such as `sha-256:…`.

    `digest` is kept as text, because other publishers do not always write it in hexadecimal.
    """

    algorithm: str
    digest: str


def render_hashes(hashes: Iterable[Hash]) -> str:
    """Write the items separated by spaces.

    Raises `DocumentError` for an empty algorithm or digest, and for one that contains a separator.
    """
    return " ".join([_render(item) for item in hashes])


def parse_hashes(value: str) -> tuple[Hash, ...]:
    """Read a list separated by white space; an item without a colon is a digest with an empty algorithm."""
    return tuple([_parse(item) for item in value.split()])


def _render(item: Hash) -> str:
    rendered = f"{item.algorithm}:{item.digest}"
    parts = _ITEM.fullmatch(rendered)
    if parts is None or parts.end(1) != len(item.algorithm):
        message = (
            f"{item.algorithm!a}:{item.digest!a} is no hash; write algorithm and digest without white space,"
            " the algorithm without a colon (X08)"
        )
        raise DocumentError(message)
    return rendered


def _parse(item: str) -> Hash:
    algorithm, colon, digest = item.partition(":")
    return Hash(algorithm=algorithm, digest=digest) if colon else Hash(algorithm="", digest=item)
