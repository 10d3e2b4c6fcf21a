"""The configuration of a site, read from its settings file by commands that do not build it."""

import logging
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pelican.settings import read_settings

from pelican_resourcesync.errors import PublicationError, SettingsError
from pelican_resourcesync.publication import Layout, PlainOutput, Predecessor, PredecessorSearch
from pelican_resourcesync.settings import Settings, parse_settings, parse_siteurl
from pelican_resourcesync.site.outputs import layouts_of
from pelican_resourcesync.site.scope import require_private_work_folder, settings_folder_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A site's settings `file`, Pelican's settings, the plug-in's, and `siteurl` (no trailing slash, `""` for none)."""

    file: Path
    pelican: Mapping[str, Any]
    settings: Settings
    siteurl: str

    @property
    def output(self) -> Path:
        """The folder that Pelican writes to."""
        return Path(self.pelican["OUTPUT_PATH"])

    @property
    def sources(self) -> Path:
        """The folder that Pelican reads."""
        return Path(self.pelican["PATH"])

    @property
    def layouts(self) -> Mapping[str, Layout]:
        """The location of the documents of each set, by its name, for sets that were not restarted."""
        return layouts_of(self.settings, self.siteurl)


def read_configuration(file: Path, extra: Mapping[str, Any] | None = None) -> Configuration:
    """Read a settings file by running it, as Pelican does; `extra` settings override its values.

    Raises `SettingsError` where the file is missing or fails, or where one of the plug-in's settings is invalid.
    """
    if not file.is_file():
        message = f"there is no settings file {file}: name it with --settings, or run the command in its folder"
        raise SettingsError(message)
    logging.disable(logging.WARNING)  # Pelican logs its warnings about the settings when it builds
    try:
        pelican = read_settings(str(file), override=dict(extra or {}))
    except Exception as error:
        message = (
            f"the settings file {file} cannot be read: {type(error).__name__}: {error}: correct it, and try a build"
        )
        raise SettingsError(message) from error
    finally:
        logging.disable(logging.NOTSET)
    return Configuration(
        file=file,
        pelican=pelican,
        settings=parse_settings(pelican.get("RESOURCESYNC")),
        siteurl=parse_siteurl(pelican.get("SITEURL")),
    )


@contextmanager
def predecessors(site: Configuration, output: Path) -> Iterator[Mapping[str, Predecessor]]:
    """Return the predecessor that a build into `output` would have, for each set. Fetched files exist in the context.

    As in a build, a copy of the live publication is saved next to the settings file. Raises `PublicationError` and
    `SettingsError` as a build does.
    """
    base = settings_folder_of(site.pelican)
    require_private_work_folder(base, output)
    with ExitStack() as stack:
        try:
            lasting = PlainOutput(output)
            found = {}
            for name, layout in site.layouts.items():
                search = PredecessorSearch(
                    layout,
                    lasting,
                    base,
                    previous=site.settings.previous,
                    moved_from=site.settings.moved_from,
                )
                stack.callback(search.close)
                found[name] = search.find()
        except OSError as error:
            raise _unreadable(output, error) from error
        yield found


def _unreadable(output: Path, error: OSError) -> PublicationError:
    return PublicationError(
        f"the publication that a build into {output} would continue cannot be read: {error}: make it readable"
    )
