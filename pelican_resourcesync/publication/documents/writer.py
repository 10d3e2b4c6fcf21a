"""Write documents to a stage, whole or in parts, or carry over those of the previous generation unchanged."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pelican_resourcesync.protocol import Document, Piece, splice, write, write_parts
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.listing import Listing
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.resource import EDITION
from pelican_resourcesync.publication.previous.previous import PreviousPublication

#: At most one entry in so many is replaced in a list: otherwise writing all of it is as fast.
_FEW = 50


@dataclass(frozen=True, slots=True)
class DocumentWriter:
    """Where and how to write the documents of a generation; unchanged ones come from `previous`."""

    stage: Stage
    options: Options
    previous: PreviousPublication | None = None

    @property
    def stays(self) -> bool:
        """Whether the site has the same address as before, so that closed documents can stay unchanged."""
        return self.previous is not None and self.previous.layout.siteurl == self.options.layout.siteurl

    def put(self, path: str, document: Document) -> None:
        """Write a document that is never divided into parts."""
        with self.stage.open(path) as stream:
            write(document, stream, edition=self.options.edition)

    def put_parts(
        self, path: str, document: Document, part: Callable[[int], str], listed: Listing | None = None
    ) -> None:
        """Write a document, or its parts and an index with its name if it exceeds the limits (`X04`).

        `listed` is the content of a Resource List, of which entries that did not change are copied from the last one.
        """
        write_parts(
            document,
            name=path,
            part_name=part,
            uri=self.options.layout.uri,
            open=self.stage.open,
            limits=self.options.limits,
            edition=self.options.edition,
            pieces=self._spliced(listed) if listed is not None else None,
        )

    def _spliced(self, listed: Listing) -> Iterable[Piece] | None:
        """Return the entries of a Resource List, most of them copied; `None` if they must be written.

        Only documents that were written here from a listing that was kept are copied from. Others are read as rows, and
        what no row holds, such as an attribute that we never write there, is not published again.
        """
        previous, before = self.previous, listed.before
        if not (previous and previous.resources_kept and before is previous.resources and before):
            return None
        uris = sorted(listed.changed_uris)
        if self.options.edition != EDITION or len(uris) > len(before) // _FEW:
            return None
        old, new = before.rows_of(uris), listed.rows_of(uris)
        changes = [(old.get(uri), new.get(uri)) for uri in uris]
        return splice(previous.files(previous.layout.resource_list), changes, len(before))

    def carry(self, path: str) -> None:
        """Carry over a document of the previous generation unchanged."""
        if self.previous is not None:
            self.stage.carry(path, self.previous.folder / path, self.previous.state.documents.get(path))

    def carry_all(self, path: str) -> None:
        """Carry over a document and its parts, packages and manifests, whose names begin with its own."""
        if self.previous is not None:
            begin = f"{path.removesuffix('.xml')}-"
            for each in self.previous.state.documents:
                if each == path or each.startswith(begin):
                    self.carry(each)
