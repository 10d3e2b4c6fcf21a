"""The `forget` command: what was done for a takedown order, and what the user still has to do."""

from collections.abc import Iterator

from pelican_resourcesync.site import Takedown
from pelican_resourcesync.terminal import format_count


def as_text(done: Takedown) -> str:
    """Return what was forgotten and what is still to be done, one line each."""
    return "\n".join(_lines(done))


def _lines(done: Takedown) -> Iterator[str]:
    touched = {name: each for name, each in done.forgotten.items() if each.uris}
    if not touched:
        generations = " and ".join(str(each.generation) for each in done.forgotten.values())
        yield f"Nothing was written: generation {generations} says of them only that they are deleted."
        return
    for uri in sorted({uri for each in touched.values() for uri in each.uris}):
        yield f"Forgotten: {uri}"
    for name, each in touched.items():
        yield (
            f"{f'{name}: g' if len(done.forgotten) > 1 else 'G'}eneration {each.generation}, below {each.home}, lists "
            f"{format_count(each.resources, 'resource')} and {format_count(each.changes, 'change')} in "
            f"{format_count(each.ranges, 'Change List')}; to followers, what is forgotten is deleted."
        )
        yield from each.notes
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
