"""Write all documents of one planned publication into the staging folder, and `publication.json`, which lists them."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from pelican_resourcesync.protocol import Capability
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.kinds import PlannedDocuments
from pelican_resourcesync.publication.kinds.archives import ArchiveWriter
from pelican_resourcesync.publication.kinds.documents.contents import Contents
from pelican_resourcesync.publication.kinds.documents.documents import Documents
from pelican_resourcesync.publication.kinds.documents.writer import DocumentWriter
from pelican_resourcesync.publication.kinds.dumps.writer import DumpWriter
from pelican_resourcesync.publication.model.kinds import kind_of
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.ranges import Range
from pelican_resourcesync.publication.model.state import Part, PublicationState, render_state
from pelican_resourcesync.publication.previous.previous import PreviousPublication
from pelican_resourcesync.system.signing import SigningKey
from pelican_resourcesync.version import __version__


class GenerationWriter:
    """Writer of the documents of one generation of a set."""

    def __init__(
        self,
        writing: DocumentWriter,
        contents: Contents,
        others: Sequence[PlannedDocuments] = (),
        on_packed: Callable[[int], None] = lambda _: None,
    ) -> None:
        """Write `contents` with `writing`, and documents of `others` kinds.

        `on_packed` is called with the number of bytes just packed.
        """
        self._others = others
        options = writing.options
        self._writing = writing
        self._layout = options.layout
        self._contents = contents
        self._parts: tuple[Part, ...] = ()
        self._documents = Documents.of(options)
        self._dumps = DumpWriter(writing, self._documents, contents.bytes, on_packed)

    def write(self) -> tuple[Part, ...]:
        """Write every document of the set; its Capability List names those at the top. Return the parts of the list."""
        archives = ArchiveWriter(self._writing, self._documents, self._dumps, self._contents.at).write(self._contents)
        found = {**self._states(archives), **self._changes(archives), **archives}
        for planned in self._others:
            found |= planned.write(self._writing, self._documents)
        capabilities = {each: found[each] for each in Capability if each in found}
        self._writing.put(self._layout.capability_list, self._documents.capability_list(capabilities))
        return self._parts

    def _states(self, archives: dict[Capability, str]) -> dict[Capability, str]:
        """Write the Resource List and the Resource Dump; return their paths by capability."""
        layout, contents = self._layout, self._contents
        archive = archives.get(Capability.RESOURCELIST_ARCHIVE, "")
        self._parts = contents.listed.write(self._writing.stage, contents.at, archive)
        found = {Capability.RESOURCELIST: layout.resource_list}
        if contents.dump is not None:
            self._dumps.resource_dump(contents.dump, contents.at, archives.get(Capability.RESOURCEDUMP_ARCHIVE, ""))
            found[Capability.RESOURCEDUMP] = layout.resource_dump
        return found

    def _changes(self, archives: dict[Capability, str]) -> dict[Capability, str]:
        """Write the Change Lists, the Change Dumps and their indexes; return the indexes' paths by capability."""
        layout, contents = self._layout, self._contents
        for each in contents.ranges:
            self._change_list(each)
        for dumped in contents.dumped:
            self._dumps.change_dump(dumped)
        found = {}
        for of, index, ranges in (
            (Capability.CHANGELIST, layout.change_list_index, contents.ranges),
            (Capability.CHANGEDUMP, layout.change_dump_index, contents.dumped),
        ):
            if ranges:
                archive = archives.get(Capability(f"{of}-archive"), "")
                self._writing.put(index, self._documents.index_of_changes(of, ranges, archive))
                found[of] = index
        return found

    def _change_list(self, commit_range: Range) -> None:
        path = self._layout.change_list(commit_range.start)
        if commit_range.unchanged and self._writing.stays:
            self._writing.carry(path)
        else:  # if the site has moved, the links in the list change (X13), and its entries stay
            self._writing.put_bodies(path, self._documents.change_list(commit_range), commit_range.bodies)


TOOL = f"pelican-resourcesync {__version__}"


def write_state(  # noqa: PLR0913 - keyword-only option
    stage: Stage,
    state: PublicationState,
    layout: Layout,
    before: PreviousPublication | PublicationState | None,
    key: SigningKey | None = None,
    *,
    withdraws: bool = False,
) -> PublicationState:
    """Write the state of the generation to the stage, signed if there is a key, and return it.

    Documents of the generation `before` that this one no longer has stay for one more generation, so that a client that
    has just read an index finds everything it lists; after starting over, they stay until `forget`. If nothing changed,
    the previous generation stays as it is: its state, byte for byte, and the documents it superseded. With
    `withdraws`, no superseded package, patch and page about changes stays.
    """
    own = {path: stage.measure(path) for path in stage.paths() if path.startswith(f"{layout.home}/")}
    packages = {path: length for path, (_, length) in own.items() if kind_of(path).is_package}
    hashes = {path: digest for path, (digest, _) in own.items()}
    state = replace(state, documents=hashes, packages=packages, signed_by=key.public if key else "")
    previous = before if isinstance(before, PreviousPublication) else None
    if previous and _says_the_same(state, previous.state):
        _carry(stage, previous, previous.state.superseded)
        stage.carry(layout.state, previous.folder / layout.state)
        return previous.state
    if previous and not previous.original:
        current = f"{previous.layout.folder}/"
        there = {path: digest for path, digest in previous.state.superseded.items() if not path.startswith(current)}
        there |= previous.state.documents
        gone = {path: there[path] for path in there if path.startswith(f"{layout.home}/") and path not in own}
        if withdraws:
            gone = {path: digest for path, digest in gone.items() if not kind_of(path).has_contents}
        _carry(stage, previous, gone)
        packages |= {path: length for path, length in previous.state.packages.items() if path in gone}
        state = replace(state, superseded=gone, packages=packages)
    stage.write(layout.state, render_state(state, TOOL, key))
    return state


def carry_publication(stage: Stage, previous: PreviousPublication) -> None:
    """Carry over a publication unchanged, with its state and the documents it superseded."""
    _carry(stage, previous, [*previous.state.documents, *previous.state.superseded, previous.layout.state])


def _says_the_same(state: PublicationState, before: PublicationState) -> bool:
    """Return whether two states differ only in their position in the sequence of generations."""
    place: dict[str, Any] = {
        "generation": before.generation,
        "predecessor": before.predecessor,
        "ancestors": before.ancestors,
        "earlier": before.earlier,
        "superseded": before.superseded,
        "packages": before.packages,
        "unstable": before.unstable,
    }
    return replace(state, **place) == before


def _carry(stage: Stage, previous: PreviousPublication, paths: Iterable[str]) -> None:
    for path in paths:
        file = previous.folder / path
        if file.is_file():
            stage.carry(path, file)
