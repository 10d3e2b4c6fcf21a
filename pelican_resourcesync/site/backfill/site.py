"""The site as it is today: where it lies, its settings, and what its builds of the past depend on."""

import hashlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

from pelican_resourcesync.errors import HistoryError
from pelican_resourcesync.publication.layout import Layout
from pelican_resourcesync.settings import Settings
from pelican_resourcesync.site.backfill.request import Request
from pelican_resourcesync.site.configuration import Configuration
from pelican_resourcesync.version import __version__

#: The plug-in's settings by which a build of the past is another.
_MATTER = ("exclude", "html_links", "robots", "link_headers", "sets")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A site in the repository whose work tree is at `top`; `folder` (where Pelican is run) and `settings` lie in it.

    `pelican` and `plugin` are the settings of today. What is published of each set lies where `layouts` say, what was
    built in `place`. `imports` are the folders that modules of today come from.
    """

    top: Path
    folder: str
    settings: str
    pelican: Mapping[str, Any]
    plugin: Settings
    layouts: Mapping[str, Layout]
    place: Path
    imports: Sequence[str]

    @property
    def output(self) -> Path:
        """The folder that is published."""
        return Path(self.pelican["OUTPUT_PATH"])

    @property
    def siteurl(self) -> str:
        """The URL of the site, without a slash at its end."""
        return next(iter(self.layouts.values())).siteurl

    def _plugin(self) -> Mapping[str, Any]:
        """Give what of the plug-in's settings a build of the past depends on, as it was written."""
        return {name: value for name, value in (self.pelican.get("RESOURCESYNC") or {}).items() if name in _MATTER}

    @property
    def objects(self) -> Path:
        """The folder that holds the bytes of what was built."""
        return self.place / "objects"

    @property
    def records(self) -> Path:
        """The folder that holds the records of builds that were done as they would be now."""
        return self.place / "records" / self._fingerprint()

    def request(self, top: Path, scratch: Path) -> Request:
        """Ask for a build of the commit in the work tree at `top`, into the folder `scratch`."""
        folder = top / self.folder
        return Request(
            folder=str(folder if folder.is_dir() else (top / self.settings).parent),
            settings=str(top / self.settings),
            output=str(scratch / "output"),
            siteurl=self.siteurl,
            plugin=self._plugin(),
            starts={name: layout.start for name, layout in self.layouts.items()},
            objects=str(self.objects),
            answer=str(scratch / "answer.json"),
        )

    def imports_in(self, top: Path) -> list[str]:
        """Give the folders to import from for the work tree at `top`: what is the site's own is that commit's."""
        return [_moved(each, self.top, top) for each in self.imports if each]

    def _fingerprint(self) -> str:
        """Give a name for all that a build of any commit depends on beside that: today's tools, and settings."""
        said = [
            [sys.version, __version__, *sorted({f"{each.name} {each.version}" for each in distributions()})],
            [
                self.folder,
                self.settings,
                self.siteurl,
                sorted((each.home, each.start) for each in self.layouts.values()),
            ],
            {name: value for name, value in asdict(self.plugin).items() if name in _MATTER},
        ]
        return hashlib.sha256(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def site_of(
    today: Configuration, top: Path, layouts: Mapping[str, Layout], place: Path, imports: Sequence[str]
) -> Site:
    """Give the site with these settings in the repository at `top`; `HistoryError` where its settings are not there."""
    settings, here = _inside(today.file, top), _inside(Path.cwd(), top)
    if settings is None:
        message = f"{today.file} is not in the repository {top}, so no commit has its settings: commit it there"
        raise HistoryError(message)
    return Site(
        top=top,
        folder=Path(settings).parent.as_posix() if here is None else here,
        settings=settings,
        pelican=today.pelican,
        plugin=today.settings,
        layouts=layouts,
        place=place.absolute(),
        imports=imports,
    )


def _inside(path: Path, top: Path) -> str | None:
    real = Path(os.path.realpath(path))
    return real.relative_to(top).as_posix() if real.is_relative_to(top) else None


def _moved(folder: str, top: Path, tree: Path) -> str:
    """Give the folder in another work tree that one in this is; what is installed within it is no part of the site."""
    real = Path(os.path.realpath(folder))
    installed = any(real.is_relative_to(os.path.realpath(prefix)) for prefix in (sys.prefix, sys.base_prefix))
    return folder if installed or not real.is_relative_to(top) else str(tree / real.relative_to(top))
