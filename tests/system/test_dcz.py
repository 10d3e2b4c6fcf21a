"""Patches of bytes: their form, which RFC 9842 describes, and what is refused."""

import hashlib
import random

import pytest
from hypothesis import given
from hypothesis.strategies import binary, integers

from pelican_resourcesync.system.dcz import LARGEST, PatchError, apply_patch, make_patch, zstd

OLD = random.Random(1).randbytes(30_000)
NEW = OLD[:10_000] + b"in between" + OLD[12_000:]
#: The magic number of a skippable frame, its length, and the SHA-256 of the dictionary.
HEADER = bytes.fromhex("5e2a4d1820000000") + hashlib.sha256(OLD).digest()


def test_form() -> None:
    """A patch has the header of `dcz`, then a frame of Zstandard with the length of its content, and is small."""
    patch = make_patch(OLD, NEW)
    assert patch.startswith(HEADER)
    assert zstd.get_frame_info(patch[40:]).decompressed_size == len(NEW)
    assert len(patch) < 150
    assert apply_patch(patch, OLD, len(NEW)) == NEW


def test_another_decoder() -> None:
    """Anybody's decoder of Zstandard, with the previous bytes as a raw dictionary, gets the new ones."""
    dictionary = zstd.ZstdDict(OLD, is_raw=True).as_prefix
    assert zstd.decompress(make_patch(OLD, NEW), zstd_dict=dictionary) == NEW  # it skips the header


@pytest.mark.promise("Patched exactly")
@given(binary(min_size=8, max_size=2_000), binary(max_size=2_000), integers(0, 2_000))
def test_any_bytes(old: bytes, new: bytes, cut: int) -> None:
    """A patch gives the new bytes, whatever they are; cut off anywhere, it gives none."""
    patch = make_patch(old, new)
    assert apply_patch(patch, old, len(new)) == new
    with pytest.raises(PatchError):
        apply_patch(patch[: cut % len(patch)], old, len(new))


@pytest.mark.promise("Patched exactly")
def test_each_bit() -> None:
    """Whichever bit of a patch is another one, it is refused, or gives no more bytes than it should."""
    patch = make_patch(OLD, NEW)
    for number in range(8 * len(patch)):
        damaged = bytearray(patch)
        damaged[number // 8] ^= 1 << number % 8
        try:
            new = apply_patch(bytes(damaged), OLD, len(NEW))
        except PatchError:
            continue
        assert number >= 8 * len(HEADER)
        assert len(new) == len(NEW)


def test_dictionary_of_zstandard() -> None:
    """Previous bytes that begin like a trained dictionary are bytes like any others."""
    old = bytes.fromhex("37a430ec") + OLD
    assert apply_patch(make_patch(old, NEW), old, len(NEW)) == NEW


@pytest.mark.parametrize("length", [0, len(NEW) - 1, len(NEW) + 1])
def test_another_length(length: int) -> None:
    """Bytes of another length than what is listed are refused."""
    with pytest.raises(PatchError, match=f"does not produce the {length} bytes that are listed"):
        apply_patch(make_patch(OLD, NEW), OLD, length)


def test_not_for_these_bytes() -> None:
    """A patch for other bytes is refused before anything is unpacked, and so is what is no patch."""
    for wrong, message in (
        (make_patch(NEW, OLD), "for other bytes"),
        (b"<!DOCTYPE html>", "it is not a patch"),
        (HEADER[:39], "it is not a patch"),
        (HEADER + b"no frame", "damaged"),
        (HEADER, "does not produce"),
    ):
        with pytest.raises(PatchError, match=message):
            apply_patch(wrong, OLD, len(NEW))


def test_small_bytes_that_unpack_to_many() -> None:
    """No more is unpacked than what is listed, and no window is larger than what is agreed."""
    options = {zstd.CompressionParameter.window_log: 27, zstd.CompressionParameter.checksum_flag: False}
    prefix = zstd.ZstdDict(OLD, is_raw=True).as_prefix
    large = zstd.compress(bytes(LARGEST * 2), options=options, zstd_dict=prefix)
    with pytest.raises(PatchError, match="damaged"):
        apply_patch(HEADER + large, OLD, 1_000)
    window = {zstd.CompressionParameter.window_log: 20}
    compressor = zstd.ZstdCompressor(options=window, zstd_dict=prefix)
    streamed = compressor.compress(bytes(LARGEST + 100)) + compressor.flush()
    with pytest.raises(PatchError, match="does not produce"):
        apply_patch(HEADER + streamed, OLD, LARGEST + 100)
    small = zstd.compress(bytes(LARGEST // 2), zstd_dict=prefix)
    with pytest.raises(PatchError, match="does not produce the 1000 bytes"):
        apply_patch(HEADER + small, OLD, 1_000)
