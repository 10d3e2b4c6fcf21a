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
        yield f"Nothing was written: generation {generations} lists these URIs only as deleted."
        return
    for uri in sorted({uri for each in touched.values() for uri in each.uris}):
        yield f"Forgotten: {uri}"
    for name, each in touched.items():
        yield (
            f"{f'{name}: g' if len(done.forgotten) > 1 else 'G'}eneration {each.generation}, below {each.home}, lists "
            f"{format_count(each.resources, 'resource')} and {format_count(each.changes, 'change')} in "
            f"{format_count(each.ranges, 'Change List')}, and the forgotten URIs as deleted."
        )
        yield from each.notes
    yield (
        "Still to do: remove it from the site's sources and commit that, or the next build lists it again; delete its "
        f"file in {done.output} and on the host."
    )
    what = f"{done.output}" if done.whole else f"only the folders .well-known and resourcesync of {done.output}"
    yield f"Before the next build, upload {what}, and delete on the host the old documents, which name these URIs."
    yield "Until then, links in pages, robots.txt and Link headers lead to a Capability List that no longer exists."
