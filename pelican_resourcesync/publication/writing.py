"""Writing: documents onto a stage, whole or in parts, and those of the generation before as they are."""

from collections.abc import Callable
from dataclasses import dataclass

from pelican_resourcesync.protocol import Document, write, write_parts
from pelican_resourcesync.publication.options import Options
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.staging import Stage


@dataclass(frozen=True, slots=True)
class Writing:
    """Where the documents of a generation go, and how they are written; what is carried comes from `previous`."""

    stage: Stage
    options: Options
    previous: Previous | None = None

    @property
    def stays(self) -> bool:
        """Tell whether the site is where it was, so that closed documents lead where they led, and stay as they are."""
        return self.previous is not None and self.previous.layout.siteurl == self.options.layout.siteurl

    def put(self, path: str, document: Document) -> None:
        """Write a document that is one whatever it holds."""
        with self.stage.open(path) as stream:
            write(document, stream, edition=self.options.edition)

    def put_parts(self, path: str, document: Document, part: Callable[[int], str]) -> None:
        """Write a document, or an index of that name and its parts where it is past the limits (`X04`)."""
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
        """Take a document of the previous generation over as it is."""
        if self.previous is not None:
            self.stage.carry(path, self.previous.folder / path, self.previous.state.documents.get(path))

    def carry_all(self, path: str) -> None:
        """Take over a document and all that belongs to it: parts, packages and manifests begin with its name."""
        if self.previous is not None:
            begin = f"{path.removesuffix('.xml')}-"
            for each in self.previous.state.documents:
                if each == path or each.startswith(begin):
                    self.carry(each)
