"""Sealing: a generation's last documents are those it supersedes, and its state, which proves all of them."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.publication.previous import Previous
from pelican_resourcesync.publication.staging import Stage
from pelican_resourcesync.publication.state import State, render_state
from pelican_resourcesync.version import __version__

TOOL = f"pelican-resourcesync {__version__}"


def seal(stage: Stage, state: State, layout: Layout, previous: Previous | None) -> None:
    """Write the state of the generation on the stage, and beside it what readers of the previous one may still seek.

    Documents of the previous generation that this one has no more stay for this one: who has just read an index finds
    what it names. Where nothing changed, that generation stays as it is: its state, byte for byte, and what it
    supersedes.
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
    """Take a publication over as it is, with its state and with what it supersedes."""
    _carry(stage, previous, [*previous.state.documents, *previous.state.superseded, previous.layout.state])


def _says_the_same(state: State, before: State) -> bool:
    """Tell whether two states differ in nothing but their places in the line of generations."""
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
