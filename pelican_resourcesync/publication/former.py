"""Former states of resources that are still public: in versions, in packages, and as what a patch leads to."""

import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from itertools import chain
from zipfile import BadZipFile

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import PATCH, ChangeKind, attributes_in, parse_versions
from pelican_resourcesync.publication.kinds.packages import open_member, open_package
from pelican_resourcesync.publication.kinds.versions import VersionIndex
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.previous.previous import PreviousPublication, explain_damage

#: The URI, the SHA-256 and the bytes of a state.
_State = tuple[str, str, bytes | None]
_IsFormer = Callable[[str, str], bool]

_DAMAGE = (PublicationError, BadZipFile, zlib.error, EOFError, OSError)


def former_states(previous: PreviousPublication, current: Mapping[str, str]) -> Iterator[_State]:
    """Yield the public states of resources, each once, other than the current ones, whose SHA-256 is given by URI.

    A state is a URI, a SHA-256 and the bytes, which are `None` if a package is damaged, or only a patch leads to them.
    """
    known = {*current.items()}

    def is_former(uri: str, digest: str) -> bool:
        is_new = uri in current and (uri, digest) not in known
        known.update({(uri, digest)} if is_new else ())
        return is_new

    with explain_damage(previous.where):
        places = (_in_versions, _in_packages, _by_patches)
        yield from chain.from_iterable(states(previous, is_former) for states in places)


def _in_versions(previous: PreviousPublication, is_former: _IsFormer) -> Iterator[_State]:
    for line in VersionIndex(previous).lines.values():
        uri, versions = parse_versions(line)
        for each in versions:
            if each.name and is_former(uri, each.digest):
                yield uri, each.digest, (previous.folder / previous.layout.versions / each.name).read_bytes()


def _in_packages(previous: PreviousPublication, is_former: _IsFormer) -> Iterator[_State]:
    for path in previous.state.packages:
        if path in previous.state.documents:  # superseded ones may be missing
            previous.require(previous.layout.manifest(path))
        manifest = previous.folder / previous.layout.manifest(path)
        if manifest.is_file():
            entries = ((each.loc, attributes_in(each.md)) for each in Body(manifest, is_draft=False).entries())
            packed = ((uri, md.get("hash", "").rpartition(":")[2], md["path"]) for uri, md in entries if "path" in md)
            wanted = [each for each in packed if is_former(*each[:2])]
            with suppress(*_DAMAGE), open_package(previous.folder / path) as package:
                while wanted:
                    uri, digest, name = wanted[-1]
                    with open_member(package, name.removeprefix("/")) as member:
                        data = member.read()
                    wanted.pop()
                    yield uri, digest, data
            yield from ((uri, digest, None) for uri, digest, _ in wanted)


def _by_patches(previous: PreviousPublication, is_former: _IsFormer) -> Iterator[_State]:
    if any(path.startswith(previous.layout.patches) for path in previous.state.documents):
        changes = chain.from_iterable(each.changes for each in previous.ranges)
        for change in (each for each in changes if each.kind is ChangeKind.UPDATED):
            paths = (each.href.removeprefix(previous.layout.uri("")) for each in change.links if each.rel == PATCH)
            of = change.representation.hash if change.representation else None
            if of and any(path in previous.state.documents for path in paths) and is_former(change.uri, of.digest):
                yield change.uri, of.digest, None
