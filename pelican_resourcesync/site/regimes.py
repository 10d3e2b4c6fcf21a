"""Regimes: how sources were read under the settings of each time."""

import hashlib
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Self

from pelican_resourcesync.site.cache import Cache
from pelican_resourcesync.site.contents import Contents, Knowing, Pins
from pelican_resourcesync.site.fingerprint import fingerprint
from pelican_resourcesync.site.past_settings import complete, places_then, settings_then
from pelican_resourcesync.site.scope import Scope, moved
from pelican_resourcesync.site.settings_file import read_settings_files
from pelican_resourcesync.site.view import Views, views_under, words_of


@dataclass(frozen=True, slots=True)
class Learned:
    """What was learned before the past is read.

    `views` are what the pages of today show; the `cache` has what earlier builds learned of sources, and takes what
    this one does.
    """

    views: Views = field(default_factory=dict)
    cache: Cache = field(default_factory=lambda: Cache(None))


@dataclass(frozen=True, slots=True)
class Regime:
    """How sources were read, and where in the repository they were."""

    contents: Contents
    scope: Scope


class Regimes:
    """The ways in which one site's sources were read; as many as its settings had values that URLs depend on.

    Holds temporary folders: use as a context manager.
    """

    def __init__(
        self,
        settings: Mapping[str, Any],
        siteurl: str,
        scope: Scope,
        today: Mapping[str, bytes],
        learned: Learned | None = None,
    ) -> None:
        """Take Pelican's settings, the site's URL, where it lies, its settings files by path, and what was learned."""
        self._settings = settings
        self._siteurl = siteurl
        self._scope = scope
        self._places = {"PATH": scope.content, "THEME": next(iter(scope.theme), None)}
        self._files = today
        self._today = read_settings_files(today)
        self._learned = learned or Learned()
        self._stack = ExitStack()
        self._known: dict[str, Regime] = {}
        self.pins: Pins = {}
        now = self._stack.enter_context(self._reading(settings, self._learned.views))
        self.now = self._known[_key({}, {})] = Regime(now, scope)

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary folders."""
        self._stack.close()

    def at(self, files: Mapping[str, bytes]) -> Regime:
        """Give how sources were read when the settings files were `files`; one that was not there says nothing."""
        otherwise: dict[str, Any] = {}
        places: dict[str, str] = {}
        for path, then in read_settings_files(files).items():
            if path in self._today:
                otherwise |= settings_then(self._settings, self._today[path], then)
                places |= places_then(self._places, path, self._today[path], then)
        return self._under(otherwise, places)

    def _under(self, otherwise: Mapping[str, Any], places: Mapping[str, str]) -> Regime:
        key = _key(otherwise, places)
        if key not in self._known:
            contents, scope = self._contents(otherwise), moved(self._scope, places)
            same = contents is self.now.contents and scope == self._scope
            self._known[key] = self.now if same else Regime(contents, scope)
        return self._known[key]

    def _contents(self, otherwise: Mapping[str, Any]) -> Contents:
        if not otherwise:
            return self.now.contents
        with ExitStack() as stack:
            try:
                whole = complete(self._settings, otherwise)
                views = views_under(self._learned.views, self._settings, whole)
                contents = stack.enter_context(self._reading(whole, views))
                contents.listings.standing()
                contents.roles.of("a/b.static")
            except Exception:  # noqa: BLE001 - settings of the past may hold anything; Pelican checks none of them
                return self.now.contents
            self._stack.enter_context(stack.pop_all())
            return contents

    def _reading(self, settings: Mapping[str, Any], views: Views) -> Contents:
        files = {path: hashlib.sha256(data).hexdigest() for path, data in self._files.items()}
        words = [sorted(words_of(views, summed_up=each)) for each in (False, True)]
        name = fingerprint(settings, self._siteurl, words, files)
        return Contents(settings, self._siteurl, self.pins, views, Knowing(self._learned.cache, name))


def _key(otherwise: Mapping[str, Any], places: Mapping[str, str]) -> str:
    return repr((sorted(otherwise.items()), sorted(places.items())))
