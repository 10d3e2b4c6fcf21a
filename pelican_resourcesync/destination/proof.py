"""Proofs: what a copy was at a time, in one small JSON file, which others can compare with the Source.

`digest` stands for all that the Source lists: the SHA-256 of one line for each resource, in the order of their URIs.
A line is the URI, the strongest listed hash as `algorithm:hexadecimal` and the listed length, with tabs between them,
and a line feed at its end; what is not listed is empty.
"""

import datetime as dt
import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pelican_resourcesync.destination.copy import ALGORITHMS, Copy, Held, State, open_state
from pelican_resourcesync.destination.options import MirrorError, Options
from pelican_resourcesync.destination.plan import plan
from pelican_resourcesync.destination.source import Discovery, Source, text_of
from pelican_resourcesync.errors import ResourceSyncError
from pelican_resourcesync.protocol import Capability, parse_datetime
from pelican_resourcesync.transport import Bounds, Response

_FORMAT = "pelican-resourcesync proof 1"
_MOST = 1_000_000  # bytes of a proof
_SELECTION = ("sets", "only", "types", "hosts")
_KEYS = {"source": str, "time": str, "at": str, "digest": str, "resources": int, "bytes": int, "differences": int}


def prove(where: str, folder: Path, options: Options) -> dict[str, Any]:
    """Compare all files of a copy with what the Source lists now; return the proof."""
    with _listed(where, options) as (listed, source), open_state(folder, where, adopt=False) as state:
        lines, size, differences = hashlib.sha256(), 0, 0
        copy = Copy(state.folder, sync=False)
        held = (each for page in state.all_held() for each in page)
        here = next(held, None)
        for uri, digest, length in _rows(listed):
            lines.update(_line(uri, digest, length))
            while here and here.uri < uri:
                here, differences = next(held, None), differences + 1
            if here is None or here.uri > uri:
                differences += 1
                continue
            differences += not _is_as_listed(copy, here, digest, length)
            size += here.length
            here = next(held, None)
        differences += sum(1 for _ in held) + (here is not None)
        return {
            "format": _FORMAT,
            "source": where,
            "time": text_of(dt.datetime.now(dt.UTC)),
            "at": _time_of(listed, options),
            "selection": {name: sorted(getattr(options, name)) for name in _SELECTION},
            "lists": _lists(listed, source, options),
            "resources": state.count(),
            "bytes": size,
            "digest": f"sha-256:{lines.hexdigest()}",
            "differences": differences,
        }


def check_proof(file: Path, options: Options | None = None) -> tuple[Mapping[str, Any], str]:
    """Compare a proof with its Source; return it, and what is wrong: empty if the Source lists, or listed, just that.

    Raises `MirrorError` if the file is no proof, and the errors of a Source that cannot be read.
    """
    proof = _read(file)
    if proof["differences"]:
        return proof, f"the copy was not exact: it differed from the Source in {proof['differences']:,} resources"
    chosen = {name: tuple(proof["selection"][name]) for name in _SELECTION}
    wanted = replace(options or Options(), **chosen)  # type: ignore[arg-type]
    found = _digest(proof["source"], wanted)
    if found != (proof["digest"], proof["resources"]) and proof["at"]:
        try:
            found = _digest(proof["source"], replace(wanted, at=parse_datetime(proof["at"])))
        except MirrorError as error:
            return proof, f"the Source lists something else now, and {error}"
    if found != (proof["digest"], proof["resources"]):
        return proof, f"the Source listed something else at {proof['at'] or 'that time'}, and does now"
    return proof, ""


def _digest(where: str, options: Options) -> tuple[str, int]:
    """Return the digest of what a Source lists, and the number of its resources."""
    lines, count = hashlib.sha256(), 0
    with _listed(where, options) as (listed, _):
        for row in _rows(listed):
            lines.update(_line(*row))
            count += 1
    return f"sha-256:{lines.hexdigest()}", count


@contextmanager
def _listed(where: str, options: Options) -> Iterator[tuple[State, Source]]:
    """Let a state for nothing else have all that a Source lists as pending."""
    options = replace(options, adopt=False, by="lists", accept_older=True, max_deletions=100.0)
    with TemporaryDirectory() as folder, open_state(Path(folder), where, adopt=False, sync=False) as state:
        source = Source(where, options, state)
        try:
            source.read_robots()
            with state.transaction():
                plan(state, source, options)
            yield state, source
        finally:
            source.close()


def _rows(listed: State) -> Iterator[tuple[str, str, int | None]]:
    yield from listed.db.execute("SELECT uri, hash, length FROM pending WHERE gone = 0 ORDER BY uri")


def _line(uri: str, digest: str, length: int | None) -> bytes:
    return f"{uri}\t{digest}\t{'' if length is None else length}\n".encode()


def _is_as_listed(copy: Copy, held: Held, digest: str, length: int | None) -> bool:
    """Return whether the file of a resource is there, unchanged, and what is listed."""
    if length is not None and length != held.length:
        return False
    if digest and digest not in (held.listed, f"sha-256:{held.digest}"):
        algorithm, _, wanted = digest.partition(":")
        found = copy.measure(held.path, ALGORITHMS[algorithm], held.length)
        if found is None or found[0] != wanted:
            return False
    return copy.matches(held)


def _time_of(listed: State, options: Options) -> str:
    """Return the time of the last change that is listed, as the lists give it."""
    if options.at is not None:
        return text_of(options.at)
    positions = [json.loads(row[0]) for row in listed.db.execute("SELECT value FROM meta WHERE key LIKE 'at %'")]
    return max((each["at"] for each in positions if each), default="")


def _lists(listed: State, source: Source, options: Options) -> list[dict[str, str]]:
    """Return the Resource Lists, with the hashes of their documents."""
    found = []
    for part in Discovery(source, listed, options).sets():
        uri = part.documents.get(Capability.RESOURCELIST) or part.documents.get("")
        if uri:
            sink = _HashSink()
            bounds = Bounds(timeout=options.timeout, total=options.document_time, size=options.document_size)
            source.client.get(source.request(uri, sink, bounds))
            found.append({"set": part.name, "uri": uri, "hash": f"sha-256:{sink.hash.hexdigest()}"})
    return found


class _HashSink:
    def begin(self, response: Response) -> None:
        """Begin with a new hash."""
        del response
        self.hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self.hash.update(data)


def _read(file: Path) -> Mapping[str, Any]:
    try:
        with file.open("rb") as stream:
            data = stream.read(_MOST + 1)
        proof = json.loads(data)
        if len(data) > _MOST or proof["format"] != _FORMAT:
            raise ValueError  # noqa: TRY301
        for key, kind in _KEYS.items():
            if type(proof[key]) is not kind:
                raise TypeError  # noqa: TRY301
        for name in _SELECTION:
            if not all(isinstance(each, str) for each in proof["selection"][name]):
                raise TypeError  # noqa: TRY301
        if proof["at"]:
            parse_datetime(proof["at"])
    except OSError as error:
        message = f"{file} cannot be read: {error.strerror}"
        raise MirrorError(message) from error
    except (ValueError, KeyError, TypeError, RecursionError, ResourceSyncError) as error:
        message = f"{file} is not a proof that mirror --prove wrote"
        raise MirrorError(message) from error
    found: Mapping[str, Any] = proof
    return found
