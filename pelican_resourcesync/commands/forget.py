"""`forget`: what was done for a takedown order, and what its user must still do."""

from collections.abc import Iterator

from pelican_resourcesync.commands.words import counted
from pelican_resourcesync.site.takedown import Takedown


def as_text(done: Takedown) -> str:
    """Say what was forgotten and what is still to be done, a line each."""
    return "\n".join(_lines(done))


def _lines(done: Takedown) -> Iterator[str]:
    forgotten = done.forgotten
    if not forgotten.uris:
        yield f"Nothing was written: generation {forgotten.generation} says of them only that they are deleted."
        return
    for uri in forgotten.uris:
        yield f"Forgotten: {uri}"
    yield (
        f"Generation {forgotten.generation}, below {forgotten.home}, lists {counted(forgotten.resources, 'resource')} "
        f"and {counted(forgotten.changes, 'change')} in {counted(forgotten.ranges, 'Change List')}; to followers, what "
        "is forgotten is deleted."
    )
    yield from forgotten.notes
    yield (
        "Still to do: take it out of the site and commit that, or the next build lists it again; remove its file from "
        f"{done.output} and from the host."
    )
    what = f"{done.output}" if done.whole else f"of {done.output} only .well-known and resourcesync"
    yield (
        f"Before the next build, upload {what}, and remove from the host what is gone from there: the documents of "
        "before name it."
    )
    yield "Until that build, links in pages, robots.txt and Link headers name a Capability List that is gone."
