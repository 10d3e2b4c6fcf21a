"""Finish a generation: keep the documents it supersedes, and write its state, which lists all documents by hash."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.layout import Layout
from pelican_resourcesync.publication.model.state import State, render_state
from pelican_resourcesync.publication.previous.previous import Previous
from pelican_resourcesync.version import __version__

TOOL = f"pelican-resourcesync {__version__}"


def seal(stage: Stage, state: State, layout: Layout, previous: Previous | None) -> None:
    """Write the state of the generation to the stage, and keep documents for readers of the previous one.

    Documents of the previous generation that this one no longer has stay for one more generation, so that a client that
    has just read an index finds everything it lists. If nothing changed, the previous generation stays as it is: its
    state, byte for byte, and the documents it superseded.
    """
    own = [path for path in stage.paths() if path.startswith(f"{layout.home}/")]
    state = replace(state, documents={path: stage.measure(path)[0] for path in own})
    if previous and _says_the_same(state, previous.state):
        _carry(stage, previous, previous.state.superseded)
        stage.carry(layout.state, previous.folder / layout.state)
        return
    if previous:
        before = previous.state.documents.items()
        gone = {path: digest for path, digest in before if path.startswith(f"{layout.home}/") and path not in own}
        _carry(stage, previous, gone)
        state = replace(state, superseded=gone)
    stage.write(layout.state, render_state(state, TOOL))


def carry_whole(stage: Stage, previous: Previous) -> None:
    """Carry over a publication unchanged, with its state and the documents it superseded."""
    _carry(stage, previous, [*previous.state.documents, *previous.state.superseded, previous.layout.state])


def _says_the_same(state: State, before: State) -> bool:
    """Return whether two states differ only in their position in the sequence of generations."""
    place: dict[str, Any] = {
        "generation": before.generation,
        "predecessor": before.predecessor,
        "ancestors": before.ancestors,
        "superseded": before.superseded,
        "restless": before.restless,
    }
    return replace(state, **place) == before


def _carry(stage: Stage, previous: Previous, paths: Iterable[str]) -> None:
    for path in paths:
        file = previous.folder / path
        if file.is_file():
            stage.carry(path, file)
