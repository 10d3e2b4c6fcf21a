"""Patches: for resources that were updated, what leads from their previous version to the new bytes (LN03)."""

import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from pelican_resourcesync.protocol import PATCH, ChangeKind, Hash, Link, split_entries
from pelican_resourcesync.publication.comparison.changes import DatedChange
from pelican_resourcesync.publication.documents import DocumentWriter
from pelican_resourcesync.publication.kinds.kind import News, PlannedDocuments
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.resource import SHA_256, Resources, render_links
from pelican_resourcesync.publication.model.versions import AddedLinks
from pelican_resourcesync.publication.previous.previous import PreviousPublication
from pelican_resourcesync.system.dcz import LARGEST, MEDIA_TYPE, make_patch
from pelican_resourcesync.system.files import measure, sha256

#: For a file that is no larger, a patch spares nothing that a request does not cost.
SMALL = 16_000
_END = "  </url>\n"
_MD = re.compile(r'    <rs:md[^>]* hash="sha-256:([0-9a-f]{64})" length="([0-9]{1,8})"')


@dataclass(slots=True)
class PatchMaker:
    """Makes the patches from the versions of a `previous` publication to the `resources`, in a folder.

    `made` has the files of the new patches, by the paths that they get.
    """

    previous: PreviousPublication
    resources: Resources
    options: Options
    folder: Path
    made: dict[str, Path] = field(default_factory=dict)

    def linked(self, changes: Iterable[DatedChange]) -> Iterator[DatedChange]:
        """Yield changes, those that have a patch with a link to it."""
        for each in changes:
            link = self._link(each) if each.kind == ChangeKind.UPDATED else None
            yield each._replace(entry=each.entry.removesuffix(_END) + render_links([link]) + _END) if link else each

    def _link(self, change: DatedChange) -> Link | None:
        """Return the link to the patch of a change, which is made unless it is published already."""
        new = _digest(change.entry)
        row = self.previous.resources.row(change.uri) if new else None
        old = _digest(row.representation) if row else ""
        if not row or old in ("", new):
            return None
        path = self.options.layout.patch(old, new)
        file = self.made.get(path, self.previous.folder / path)
        if path not in self.made and path not in self.previous.state.documents:
            name = AddedLinks(self.options).name(change.uri, row.representation)
            version = self.previous.folder / self.options.layout.versions / name
            resource = self.resources.get(change.uri)
            if not version.is_file() or resource is None or resource.file is None:
                return None
            before, now = version.read_bytes(), resource.file.read_bytes()
            patch = make_patch(before, now)
            if (sha256(before), sha256(now)) != (old, new) or len(patch) >= len(zlib.compress(now, 9)):
                return None
            file = self.made[path] = self.folder / path.rpartition("/")[2]
            self.folder.mkdir(exist_ok=True)
            file.write_bytes(patch)
        digest, length = measure(file)
        hash_ = Hash(algorithm=SHA_256, digest=digest)
        return Link(rel=PATCH, href=self.options.layout.uri(path), hash=(hash_,), length=length, type=MEDIA_TYPE)


@dataclass(frozen=True, slots=True)
class Patches(PlannedDocuments):
    """The patches that Change Lists link to."""

    news: News

    def write(self, writing: DocumentWriter) -> None:
        """Write those that were made, and carry over those that were published before, after the Change Lists.

        Those that lead to what is withdrawn go, although lists still link to them. A patch from it has no byte of it.
        """
        layout, stage, made, withdrawn = writing.options.layout, writing.stage, self.news.patches, self.news.withdrawn
        before = writing.previous.state.documents if writing.previous else {}
        if not made and not any(path.startswith(layout.patches) for path in before):
            return
        link = re.compile(f'href="{re.escape(layout.uri(""))}({re.escape(layout.patches)}[0-9a-f-]*[.]dcz)"')
        for found in self.news.listed:
            text = stage.read(layout.change_list(found.start)).decode()
            if withdrawn:
                kept = (entry for entry in split_entries(text) if not withdrawn.has(entry.loc, _digest(entry.md)))
                text = "".join(entry.links for entry in kept)
            for path in link.findall(text):
                if path in made:
                    stage.carry(path, made[path])
                elif path in before:
                    writing.carry(path)


def _digest(text: str) -> str:
    """Return the SHA-256 of the bytes that an entry describes, if they may have a patch, or an empty text."""
    found = _MD.search(text)
    return found[1] if found and SMALL < int(found[2]) <= LARGEST else ""
