"""The configuration of a site: its settings, read from its settings file by commands that do not build it."""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pelican.settings import read_settings
from pelican.utils import DateFormatter

from pelican_resourcesync.errors import SettingsError
from pelican_resourcesync.publication import Layout, Options, PageOptions
from pelican_resourcesync.publishers import static_site
from pelican_resourcesync.publishers.pelican.scope import settings_folder_of
from pelican_resourcesync.publishers.static_site import ALLOW_DELETIONS, layouts_of
from pelican_resourcesync.settings import SetSettings, Settings, parse_settings, parse_siteurl

#: What to do about deletions, if they are right.
ON_DELETIONS = (
    f"If the deletions are right, build once with {ALLOW_DELETIONS}=1 in the environment, or with RESOURCESYNC = "
    "{'allow_deletions': True}"
)
_CAUSES = (
    "a plug-in may not be installed here, a folder of sources may be missing, a setting may have changed URLs, or what "
    "was removed is not committed, or this clone is shallow."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """A site's settings `file`, Pelican's settings, the plug-in's, and `siteurl` (no trailing slash, `""` for none)."""

    file: Path
    pelican: Mapping[str, Any]
    settings: Settings
    siteurl: str

    @property
    def folder(self) -> Path:
        """The folder of the settings, where the work folder is."""
        return settings_folder_of(self.pelican)

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
        message = f"there is no settings file {file}: set it with --settings, or run the command in its folder"
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


def options_of(pelican: Mapping[str, Any], settings: Settings, layout: Layout, own: SetSettings) -> Options:
    """Return the options for publishing a set, from the settings of Pelican and the plug-in and the set's `own`."""
    return static_site.options_of(
        Path(pelican["OUTPUT_PATH"]),
        layout,
        settings,
        own,
        site_name=str(pelican.get("SITENAME") or ""),
        uncounted_below=layout.uri(f"{quote(str(pelican['THEME_STATIC_DIR']).strip('/'))}/"),
        on_deletions=f"{_CAUSES} {ON_DELETIONS}",
        page=_page_options(pelican),
    )


def _page_options(pelican: Mapping[str, Any]) -> PageOptions:
    """Return what the pages for people show, in the site's language, with the templates of its theme."""
    overrides = (Path(each) for each in pelican.get("THEME_TEMPLATES_OVERRIDES") or ())
    theme = Path(pelican.get("THEME") or "", "templates")
    return PageOptions(
        language=str(pelican.get("DEFAULT_LANG") or "en"),
        templates=(*overrides, theme),
        variables={name: value for name, value in pelican.items() if name.isupper()},
        filters={"strftime": DateFormatter(), **(pelican.get("JINJA_FILTERS") or {})},
    )
