"""Write documents to a stage, whole or in parts, or carry over those of the previous generation unchanged.

Also the Source Description, which all sets share, where Destinations (clients that keep a copy) start.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from pelican_resourcesync.protocol import Document, Entry, Metadata, Renderer, Root, write, write_parts
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.kinds.documents.documents import Documents, as_part, description
from pelican_resourcesync.publication.model.history import ShownChanges
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE, WELL_KNOWN
from pelican_resourcesync.publication.model.options import Options
from pelican_resourcesync.publication.model.ranges import Body
from pelican_resourcesync.publication.model.state import PublicationState
from pelican_resourcesync.publication.model.versions import PublicVersions
from pelican_resourcesync.publication.previous.previous import PreviousPublication


@dataclass(slots=True)
class DocumentWriter:
    """Where and how to write the documents of a publication, whose `state` still lacks their hashes.

    Unchanged ones come from the `previous` publication. `on_packed` is called with the number of bytes just packed.
    `versions` are those that are public, once they are written, and `shown` is what the pages about changes show that
    were written, by their paths.
    """

    stage: Stage
    options: Options
    state: PublicationState
    previous: PreviousPublication | None = None
    on_packed: Callable[[int], None] = lambda _: None
    versions: PublicVersions = field(default_factory=lambda: PublicVersions(None, None))
    shown: dict[str, ShownChanges] = field(default_factory=dict)
    documents: Documents = field(init=False)

    def __post_init__(self) -> None:
        self.documents = Documents.of(self.options)

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

    def put_bodies(self, path: str, document: Document, bodies: Sequence[Body]) -> None:
        """Write a document with entries that are written already."""
        renderer = Renderer(document.root, self.options.edition)
        with self.stage.open(path) as stream:
            stream.write(renderer.head(document).encode())
            for each in bodies:
                stream.write(each.read())
            stream.write(renderer.tail().encode())

    def put_copied_parts(
        self, path: str, document: Document, part: Callable[[int], str], parts: Sequence[Sequence[Body]]
    ) -> None:
        """Write a document whose entries are written already: as one, or as several parts with an index."""
        if len(parts) <= 1:
            self.put_bodies(path, document, [body for each in parts for body in each])
            return
        uri = self.options.layout.uri
        names = [part(number) for number in range(1, len(parts) + 1)]
        for name, bodies in zip(names, parts, strict=True):
            self.put_bodies(name, as_part(document, uri(path)), bodies)
        md = Metadata(at=document.md.at) if document.md else None
        index = replace(document, root=Root.SITEMAPINDEX, entries=[Entry(loc=uri(name), md=md) for name in names])
        self.put(path, index)

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


def write_entry_points(stage: Stage, sets: Sequence[Options], neighbours: Sequence[Entry]) -> None:
    """Write the Source Description and its well-known copy, for sets with these options and other publishers'."""
    options = sets[0]
    people = options.layout.uri(HTML_PAGE)
    lists = {each.layout.uri(each.layout.capability_list): each.describedby or people for each in sets}
    document = description(lists, options.describedby or people, neighbours)
    with stage.open(DESCRIPTION) as stream:
        write(document, stream, edition=options.edition)
    stage.write(WELL_KNOWN, stage.read(DESCRIPTION))
