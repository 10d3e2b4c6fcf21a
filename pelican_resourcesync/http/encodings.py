"""Which bytes an answer means: those that come, or those that they are unpacked to.

A host may pack what it sends (`Content-Encoding`): because a request allows it, because the file is stored so, or
because it takes the name `*.gz` for an encoding and sends the file itself. If a hash or a length is listed, it decides
which bytes are meant; otherwise, everything known is unpacked.

Strangers pack these bytes. So they are unpacked in small blocks, to no more than `_RATIO` times what came.
"""

import hashlib
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, partial, reduce
from importlib import import_module
from itertools import chain
from typing import Any, Protocol

from pelican_resourcesync.errors import EncodingError, TransportError
from pelican_resourcesync.system.dcz import zstd
from pelican_resourcesync.system.media_types import is_compressed, media_type

_BLOCK = 65_536  # bytes that are unpacked at once
_HELD = 262_144  # bytes of an answer that wait for its end, if only their hash decides
_RATIO, _PAGE = 200, 1_048_576  # how much larger unpacked bytes may be; up to a page, they may be more
_MOST = 2  # encodings of one answer
_GZIP = b"\x1f\x8b"
_WINDOW = 23  # the logarithm of the most bytes that a decoder of zstd has to hold (RFC 9659)

#: Encodings that are registered for HTTP and may have no decoder. Names that are not registered change no bytes.
_OTHERS = ("aes128gcm", "br", "compress", "dcb", "dcz", "exi", "pack200-gzip", "x-compress", "zstd")


class _Brotli:
    """A decoder of Brotli with the interface of the others."""

    unused_data = b""

    def __init__(self, brotli: Any) -> None:
        self._decoder = brotli.Decompressor()

    def decompress(self, data: bytes, most: int) -> bytes:
        block: bytes = self._decoder.process(data, output_buffer_limit=most)
        return block

    @property
    def eof(self) -> bool:
        return bool(self._decoder.is_finished())

    @property
    def needs_input(self) -> bool:
        return bool(self._decoder.can_accept_more_data())


@cache
def _decoders() -> Mapping[str, tuple[Any, type[Exception]]]:
    """Return what makes a decoder of each encoding, if anything does, and what the decoder raises."""
    decoders: dict[str, tuple[Any, type[Exception]]] = dict.fromkeys(_OTHERS, (None, zlib.error))
    for name in ("gzip", "x-gzip", "deflate"):
        decoders[name] = partial(zlib.decompressobj, 32 + zlib.MAX_WBITS), zlib.error
    for name in ("_brotli", "brotlicffi"):  # that of the package Brotli, and another
        with suppress(ImportError):
            brotli = import_module(name)
            if hasattr(getattr(brotli, "Decompressor", None), "can_accept_more_data"):  # else its output has no limit
                decoders["br"] = partial(_Brotli, brotli), brotli.error
    if zstd is not None:
        options = {zstd.DecompressionParameter.window_log_max: _WINDOW}
        decoders["zstd"] = partial(zstd.ZstdDecompressor, options=options), zstd.ZstdError
    return decoders


@cache
def acceptable() -> str:
    """Return the encodings to ask for."""
    return ", ".join(name for name in ("gzip", "br", "zstd") if _decoders()[name][0])


class Wanted(Protocol):
    """What a request says of the bytes that it means; see `Request`."""

    url: str
    hash: str
    length: int | None
    unzip: bool


def accepted(url: str, headers: Mapping[str, str]) -> str:
    """Return the encodings to ask a URL for: none for what is packed already, and none for a part of something."""
    return "identity" if "Range" in headers or _is_packed(url) else acceptable()


def _is_packed(url: str) -> bool:
    ending = url.partition("?")[0].rpartition("/")[2].rpartition(".")[2]
    return is_compressed(media_type(f".{ending}"))


def decoding(wanted: Wanted, name: str, values: Sequence[str], declared: int | None = None) -> "Decoding | None":
    """Return what makes the bytes that are meant of those that come; None if they are the same.

    `name` is for messages, `values` are those of `Content-Encoding`, and `declared` is the `Content-Length`.
    """
    codings = [
        coding for value in values for coding in map(str.strip, value.lower().split(",")) if coding in _decoders()
    ]
    if not codings and not wanted.unzip:
        return None
    if len(codings) > _MOST:
        message = f"{name}: the server encoded it more than {_MOST} times"
        raise EncodingError(message)
    is_stated = bool(wanted.hash) or wanted.length is not None
    if is_stated and declared is not None and declared == wanted.length and declared > _HELD:
        return None
    holds = is_stated and (wanted.length in (None, declared) or declared is None or len(codings) > 1)
    stages: list[_Stage] = [_Stage(name, coding) for coding in reversed(codings)]
    return Decoding(wanted, stages + [_IfGzip(name, "gzip")] * wanted.unzip, holds=holds)


def decoded(
    blocks: Iterable[bytes], wanted: Wanted, name: str, values: Sequence[str] = (), declared: int | None = None
) -> Iterator[bytes]:
    """Yield the bytes that are meant of all that came; see `decoding`."""
    found = decoding(wanted, name, values, declared)
    for data in blocks:
        yield from found.decode(data) if found else (data,)
    if found:
        yield from found.finish()


class Decoding:
    """An answer that is being received. Where only its end shows which bytes are meant, it waits for that.

    An answer that is too large to wait counts as a file that is packed itself if its name says so, and as encoded if
    not.
    """

    def __init__(self, wanted: Wanted, stages: "list[_Stage]", *, holds: bool) -> None:
        self._wanted, self._stages = wanted, stages
        self._held = bytearray() if holds else None

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what some bytes are. Raises `TransportError` if they cannot be unpacked."""
        if self._held is not None:
            self._held += data
            if len(self._held) <= _HELD:
                return
            data, self._held = bytes(self._held), None
            if _is_packed(self._wanted.url):
                self._stages.clear()
        blocks: Iterator[bytes] = iter((data,))
        yield from reduce(lambda blocks, stage: chain.from_iterable(map(stage.decode, blocks)), self._stages, blocks)

    def finish(self) -> Iterator[bytes]:
        """Yield what is left at the end. Raises `TransportError` if something is missing."""
        if self._held is None:
            for stage in self._stages:
                yield from stage.finish()
            return
        data, stages = bytes(self._held), self._stages
        while stages and not self._is_wanted(data):
            stage, *stages = stages
            if not stages:
                yield from stage.decode_all(data)
                return
            data = b"".join(stage.decode_all(data))
        yield data

    def _is_wanted(self, data: bytes) -> bool:
        algorithm, _, digest = self._wanted.hash.partition(":")
        if self._wanted.length not in (None, len(data)):
            return False
        return not digest or hashlib.new(algorithm.replace("-", ""), data, usedforsecurity=False).hexdigest() == digest


class _Stage:
    """One encoding. What follows the end of the packed bytes and is not packed is left out."""

    def __init__(self, name: str, coding: str) -> None:
        self._name, self._coding = name, coding
        self._new, self._error = _decoders()[coding]
        self._decoder: Any = None
        self._is_first, self._has_begun, self._is_over = True, False, False
        self._received = self._length = 0

    def decode_all(self, data: bytes) -> Iterator[bytes]:
        """Yield what bytes are that are all there are, in blocks."""
        yield from self.decode(data)
        yield from self.finish()

    def decode(self, data: bytes) -> Iterator[bytes]:
        """Yield what some bytes are, in blocks."""
        if data and self._new is None:
            message = f"{self._name}: the server encoded it as {self._coding!a}, which was not requested"
            raise EncodingError(message)
        for begin in range(0, len(data), _BLOCK):  # what follows the end of packed bytes is copied
            yield from self._decode(data[begin : begin + _BLOCK])

    def _decode(self, data: bytes) -> Iterator[bytes]:
        self._received += len(data)
        goes_on = True
        while goes_on and not self._is_over:
            if self._decoder is None or (self._decoder.eof and data):
                self._is_first, self._has_begun = self._decoder is None, False
                self._decoder = self._new()
            try:
                block = self._decoder.decompress(data, _BLOCK)
            except self._error as error:
                self._is_over = not self._is_first and not self._has_begun
                if self._is_over:
                    return
                message = f"{self._name}: the server says that it is encoded as {self._coding!a}, but it is not"
                raise EncodingError(message) from error
            self._has_begun = self._has_begun or bool(block)
            self._length += len(block)
            if self._length > max(_PAGE, _RATIO * self._received):
                message = f"{self._name}: it would grow to more than {_RATIO} times its size"
                raise TransportError(message)
            if block:
                yield block
            data = self._decoder.unused_data or getattr(self._decoder, "unconsumed_tail", b"")
            goes_on = bool(data) or len(block) == _BLOCK or not getattr(self._decoder, "needs_input", True)
            goes_on = goes_on and (bool(data) or not self._decoder.eof)

    def finish(self) -> Iterator[bytes]:
        """Yield nothing. Raises `TransportError` if the end is missing."""
        is_whole = self._decoder is None or self._decoder.eof or self._is_over
        if not is_whole and (self._is_first or self._has_begun):
            message = f"{self._name}: the transfer ended early"
            raise TransportError(message)
        return iter(())


class _IfGzip(_Stage):
    """A file in gzip is unpacked; any other is passed as it is."""

    _begin, _passes = b"", False

    def decode(self, data: bytes) -> Iterator[bytes]:
        if self._decoder is None and not self._passes:
            self._begin += data
            if len(self._begin) < len(_GZIP):
                return
            data, self._passes = self._begin, not self._begin.startswith(_GZIP)
        if self._passes:
            yield data
        else:
            yield from super().decode(data)

    def finish(self) -> Iterator[bytes]:
        if self._decoder is None and not self._passes:
            return iter((self._begin,))
        return super().finish()
