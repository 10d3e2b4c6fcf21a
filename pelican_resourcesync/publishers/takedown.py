"""Takedowns: resources are forgotten in the publication in an output, of a site, a folder or a repository."""

import shutil
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.publication import (
    LastPublishedCopy,
    TakedownResult,
    build_time,
    forget_uris,
    publications_in,
    recovered,
    work_folder_for,
)
from pelican_resourcesync.publishers.static_site import own_sitemaps
from pelican_resourcesync.system.signing import signing_key

if TYPE_CHECKING:
    from pelican_resourcesync.publishers.pelican import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Takedown:
    """The result: what was `forgotten` in each set, by its name, in `output`; nothing in a `dry_run`."""

    forgotten: Mapping[str, TakedownResult]
    output: Path
    dry_run: bool = False

    def text(self) -> str:
        """Return what was removed, and what the user still has to do."""
        touched = {name: result for name, result in self.forgotten.items() if result.uris}
        if not touched:
            generations = " and ".join(str(result.generation) for result in self.forgotten.values())
            return f"Nothing was written: generation {generations} already lists these URIs only as deleted."
        done = "Would be forgotten" if self.dry_run else "Forgotten"
        lines = [f"{done}: {uri}" for uri in sorted({uri for result in touched.values() for uri in result.uris})]
        lines += [
            f"{name}: generation {result.generation}, below {result.home}, lists them only as deleted."
            for name, result in touched.items()
        ]
        return "\n".join([*lines, *(() if self.dry_run else self._to_do())])

    def _to_do(self) -> Iterator[str]:
        output = self.output
        yield "Still to do: remove the resources from the site's sources and commit that, or the next build lists them."
        yield f"Delete their files in {output} and on the host."
        yield f"Before the next build, upload {output} and delete the old documents on the host: they list the URIs."
        yield "Until then, links in pages, robots.txt and Link headers lead to a Capability List that no longer exists."


def take_down(
    output: Path, uris: Collection[str], site: "Configuration | None" = None, *, dry_run: bool = False
) -> Takedown:
    """Forget URIs in the publication in a folder, or in a `dry_run` only find them.

    With a `site`, this must be its latest publication, and the result is also saved next to the settings file: a build
    before it is public would otherwise continue the live publication, which still names the URIs. Raises
    `PublicationError` where there is no publication or a later one, and as `forget_uris` does.
    """
    if site and not site.siteurl:
        message = f"SITEURL is empty in {site.file}: pass the settings file that is used to publish (--settings)"
        raise PublicationError(message)
    if not output.is_dir():
        message = (
            f"the folder {output} does not exist: build the site first, or pass the output folder of a publication"
        )
        raise PublicationError(message)
    base = site.folder if site else work_folder_for(output)
    with recovered(output, base):
        sets = {publication.layout.set_name: publication for publication in publications_in(output)}
        if not sets:
            message = f"{output} contains no publication: build the site first, which continues the public one"
            raise PublicationError(message)
        if site:
            from pelican_resourcesync.publishers.pelican import require_latest

            require_latest(site, output, sets)
        now, key = build_time(), signing_key()
        results = forget_uris([*sets.values()], uris, output, built=now, key=key, dry_run=dry_run)
        done = Takedown(forgotten=dict(zip(sets, results, strict=True)), output=output, dry_run=dry_run)
        if dry_run:
            return done
        for file in own_sitemaps(output):  # they name the URIs; the next build writes them
            file.unlink()
        if site and site.settings.previous == "live" and any(result.uris for result in results):
            for previous in sets.values():
                copy = LastPublishedCopy(site.folder, previous.layout)
                with copy.fetch_folder() as folder:
                    shutil.copytree(output / previous.layout.home, folder / previous.layout.home)
                    shutil.copyfile(output / previous.layout.state, folder / previous.layout.state)
                    copy.replace(folder)
        return done
