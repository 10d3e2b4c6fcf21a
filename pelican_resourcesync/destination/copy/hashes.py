"""The hashes that a list may give, and those of files."""

import hashlib
import os
import re
import stat
from base64 import b64decode
from binascii import Error as Base64Error
from contextlib import suppress

from pelican_resourcesync.protocol import Hash

#: The hash algorithms that are verified, with Python's names for them, the strongest last.
ALGORITHMS = {"md5": "md5", "sha-1": "sha1", "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512"}
_NAMES = {name.replace("-", ""): name for name in ALGORITHMS}
_STRENGTH = {name: strength for strength, name in enumerate(ALGORITHMS)}
_SIZES = {name: hashlib.new(each, usedforsecurity=False).digest_size for name, each in ALGORITHMS.items()}
_USUAL = re.compile("[0-9a-f]{64}")
_BLOCK = 1_048_576  # bytes


def strongest(hashes: tuple[Hash, ...]) -> str:
    """Return the strongest of an entry's hashes, as `algorithm:hexadecimal`, or an empty string."""
    if len(hashes) == 1 and hashes[0].algorithm == "sha-256" and _USUAL.fullmatch(hashes[0].digest):
        return f"sha-256:{hashes[0].digest}"
    best, strength = "", -1
    for each in hashes:
        name = _NAMES.get(each.algorithm.lower().replace("-", ""), "")
        digest = _hexadecimal(name, each.digest) if name else ""
        if digest and _STRENGTH[name] >= strength:
            best, strength = f"{name}:{digest}", _STRENGTH[name]
    return best


def _hexadecimal(name: str, digest: str) -> str:
    """Return a digest in hexadecimal, also if its publisher wrote base64; an empty string if it is neither."""
    if len(digest) == 2 * _SIZES[name]:
        with suppress(ValueError):
            if len(bytes.fromhex(digest)) == _SIZES[name]:
                return digest.lower()
    with suppress(Base64Error, ValueError):
        if len(data := b64decode(digest, validate=True)) == _SIZES[name]:
            return data.hex()
    return ""


def hash_of(file: str, length: int | None = None, algorithm: str = "sha256") -> tuple[str, int]:
    """Return the hash and the length of a regular file; an empty string if there is none, or not of that length."""
    try:
        handle = os.open(file, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0) | _DO_NOT_WAIT)
    except OSError:
        return "", 0
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or (length is not None and found.st_size != length):
            return "", 0
        whole = getattr(hashlib, algorithm)(usedforsecurity=False)  # `new` looks for it each time
        size = 0
        while size < found.st_size and (data := os.read(handle, min(found.st_size - size, _BLOCK))):
            whole.update(data)
            size += len(data)
        return whole.hexdigest(), size
    except OSError:
        return "", 0
    finally:
        os.close(handle)


_DO_NOT_WAIT = getattr(os, "O_NONBLOCK", 0)  # for a pipe, which is not a regular file
