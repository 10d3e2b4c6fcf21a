"""Write documents to a stage, whole or in parts, or carry over those of the previous generation unchanged."""

from collections.abc import Callable
from dataclasses import dataclass

from pelican_resourcesync.protocol import Document, write, write_parts
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.previous.previous import PreviousPublication


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

    def put_parts(self, path: str, document: Document, part: Callable[[int], str]) -> None:
        """Write a document, or its parts and an index with its name if it exceeds the limits (`X04`)."""
        write_parts(
            document,
            name=path,
            part_name=part,
            uri=self.options.layout.uri,
            open=self.stage.open,
            limits=self.options.limits,
            edition=self.options.edition,
        )

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
