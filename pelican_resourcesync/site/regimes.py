"""Regimes: how sources were read under the settings of each time."""

from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any, Self

from pelican_resourcesync.site.contents import Contents, Pins
from pelican_resourcesync.site.past_settings import complete, settings_then
from pelican_resourcesync.site.settings_file import read_settings_files


class Regimes:
    """The ways in which one site's sources were read; as many as its settings had values that URLs depend on.

    Holds temporary folders: use as a context manager.
    """

    def __init__(self, settings: Mapping[str, Any], siteurl: str, today: Mapping[str, bytes]) -> None:
        """Take Pelican's settings, the site's URL, and the settings files of today by path."""
        self._settings = settings
        self._siteurl = siteurl
        self._today = read_settings_files(today)
        self._stack = ExitStack()
        self._known: dict[str, Contents] = {}
        self.pins: Pins = {}
        self.now = self._under({})

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary folders."""
        self._stack.close()

    def at(self, files: Mapping[str, bytes]) -> Contents:
        """Give how sources were read when the settings files were `files`; one that was not there says nothing."""
        otherwise: dict[str, Any] = {}
        for path, then in read_settings_files(files).items():
            if path in self._today:
                otherwise |= settings_then(self._settings, self._today[path], then)
        return self._under(otherwise)

    def _under(self, otherwise: Mapping[str, Any]) -> Contents:
        key = repr(sorted(otherwise.items()))
        if key not in self._known:
            self._known[key] = self._stack.enter_context(self._contents(otherwise))
        return self._known[key]

    def _contents(self, otherwise: Mapping[str, Any]) -> Contents:
        if not otherwise:
            return Contents(self._settings, self._siteurl, self.pins)
        with ExitStack() as stack:
            try:
                contents = stack.enter_context(Contents(complete(self._settings, otherwise), self._siteurl, self.pins))
                contents.listings.standing()
                contents.roles.of("a/b.static")
            except Exception:  # noqa: BLE001 - settings of the past may hold anything; Pelican checks none of them
                return self.now
            stack.pop_all()
            return contents
