"""Patches: the bytes of a file, compressed with those of its previous version as a dictionary (`dcz`, RFC 9842).

A patch begins with the SHA-256 of the previous bytes, so it is never applied to other ones. The rest is a frame of
Zstandard.
"""

import sys
from contextlib import suppress
from typing import Any

from pelican_resourcesync.system.files import sha256

zstd: Any = None  # the two modules are the same
if sys.version_info >= (3, 14):
    from compression import zstd
else:
    with suppress(ImportError):
        from backports import zstd

#: The media type of a patch, which `docs/patches.md` describes.
MEDIA_TYPE = "application/x-dcz"
#: The most bytes of a file that is patched, and of its previous version: what every decoder of RFC 9842 can hold.
LARGEST = 1 << 23

_MAGIC = bytes.fromhex("5e2a4d1820000000")
_HEADER = len(_MAGIC) + 32
_LEVEL = 9


class PatchError(Exception):
    """Raised when a patch cannot be applied; the message says why."""


def has_patches() -> bool:
    """Return whether patches can be made and applied: before Python 3.14, with the extra `patch` alone."""
    return zstd is not None


def make_patch(old: bytes, new: bytes) -> bytes:
    """Return the patch from `old` to `new`."""
    options = {zstd.CompressionParameter.compression_level: _LEVEL, zstd.CompressionParameter.checksum_flag: False}
    frame = zstd.compress(new, options=options, zstd_dict=_dictionary(old))
    return b"".join((_MAGIC, bytes.fromhex(sha256(old)), frame))


def apply_patch(patch: bytes, old: bytes, length: int) -> bytes:
    """Return what a patch makes of `old`: bytes of this length, and never more are unpacked.

    Raises `PatchError` if that is not possible.
    """
    if base_of(patch) != sha256(old):
        message = "the patch is for other bytes"
        raise PatchError(message)
    options = {zstd.DecompressionParameter.window_log_max: LARGEST.bit_length() - 1}
    try:
        decompressor = zstd.ZstdDecompressor(zstd_dict=_dictionary(old), options=options)
        new: bytes = decompressor.decompress(patch[_HEADER:], max_length=min(length, LARGEST) + 1)
    except (zstd.ZstdError, ValueError) as error:
        message = f"the patch is damaged: {error}"
        raise PatchError(message) from error
    if len(new) != length:
        message = f"the patch does not produce the {length} bytes that are listed"
        raise PatchError(message)
    return new


def base_of(patch: bytes) -> str:
    """Return the SHA-256 of the bytes that a patch is for. Raises `PatchError` if it is not a patch."""
    if not patch.startswith(_MAGIC) or len(patch) < _HEADER:
        message = "it is not a patch"
        raise PatchError(message)
    return patch[len(_MAGIC) : _HEADER].hex()


def _dictionary(old: bytes) -> Any:
    """Return bytes as a dictionary, whatever they begin with."""
    return zstd.ZstdDict(old, is_raw=True).as_prefix
