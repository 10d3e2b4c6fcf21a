"""Which URLs a file in the repository leads to as of a commit: a source, a file of the theme, or a template page."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import NamedTuple

from pelican_resourcesync.git import LINK, SUBMODULE, UNCOMMITTED, PathChange, Repository
from pelican_resourcesync.site.history.past_settings import (
    SETTINGS_OF_TEMPLATE_PAGE,
    SETTINGS_OF_THEME,
    settings_of_source,
)
from pelican_resourcesync.site.history.sources import SourceOutput, Sources
from pelican_resourcesync.site.outputs import Role
from pelican_resourcesync.site.scope import Scope
from pelican_resourcesync.transport import uri_of_path

#: The start of a blob whose content is in Git LFS, not in the repository.
_POINTER = b"version https://git-lfs.github.com/spec/"


class State(NamedTuple):
    """A file at one time: what it publishes, its blob, and the settings that determine its URL."""

    content: SourceOutput
    blob: str
    settings: Sequence[str]


class UnknownStateError(Exception):
    """Raised where it is uncertain what a past state of a source published."""


class States:
    """A reader of the states of the files of one site."""

    def __init__(self, repository: Repository, sources: Sources, scope: Scope) -> None:
        """Read `sources` from `repository`; `scope` says where they are in it."""
        self._repository = repository
        self._sources = sources
        self._scope = scope

    def read(self, change: PathChange, *, today: bool, head_matters: bool = False) -> Iterator[State]:
        """Yield what a file publishes after a change.

        `today` means that the build used this state of the file. Then the result is taken from the build, and the file
        is read only where its `head_matters`. Raises `UnknownStateError` where it is uncertain what a past file
        published.
        """
        if change.new is None or change.mode == SUBMODULE:
            return
        source = self._scope.source(change.path)
        for uri, settings in self._copied(change.path, source):
            yield State(SourceOutput(change.path, Role.STATIC, (uri,)), change.new, settings)
        for role in self._sources.roles(source) if source is not None else ():
            data = partial(self._as_built if today else self.data, change)
            content: SourceOutput | None = None
            if today and self._sources.is_built(source or "", role):
                content = self._sources.built(source or "", role, data if head_matters else None)
            elif change.mode != LINK or role is Role.STATIC:
                content = self._sources.past(source or "", role, data)
            if content is None:
                raise UnknownStateError
            settings = settings_of_source(role, in_default_lang=content.in_default_lang)
            yield State(content, change.new, settings)

    def unbuilt(self, change: PathChange, now: datetime) -> Iterator[str]:
        """Yield the URIs that a source of today should have by its metadata, though the build `now` did not publish it.

        Pelican rejects a source for an error in its body, for example, and may have done so at any time.
        """
        source = self._scope.source(change.path)
        for role in self._sources.roles(source) if source is not None else ():
            if role is not Role.STATIC and not self._sources.is_built(source or "", role):
                content = self._sources.past(source or "", role, partial(self._as_built, change))
                if content and (content.draft_until is None or content.draft_until <= now):
                    yield from content.uris

    def _copied(self, path: str, source: str | None) -> Iterator[tuple[str, Sequence[str]]]:
        """Yield the URIs of a file of the theme and of a template page, with the settings that determine them."""
        copied = self._scope.theme_file(path)
        if copied is not None and not self._sources.ignores(copied):
            yield uri_of_path(self._sources.siteurl, copied), SETTINGS_OF_THEME
        template = self._sources.settings["TEMPLATE_PAGES"].get(source)
        if template:
            yield uri_of_path(self._sources.siteurl, template), SETTINGS_OF_TEMPLATE_PAGE

    def has_to_be_read(self, change: PathChange, *, today: bool) -> bool:
        """Return whether `read` needs the bytes of a blob."""
        source = self._scope.source(change.path)
        return source is not None and any(
            role is not Role.STATIC and not (today and self._sources.is_built(source, role))
            for role in self._sources.roles(source)
        )

    def uris_today(self, change: PathChange) -> Iterator[str]:
        """Yield the URIs of the build whose source a change affects; for a submodule, those of all sources below."""
        source = self._scope.source(change.path)
        yield from (uri for uri, _ in self._copied(change.path, source))
        if source is not None:
            yield from self._sources.built_from(source, below=change.mode == SUBMODULE)

    def uris_before(self, change: PathChange) -> Iterator[str]:
        """Yield the URIs of the file that a change replaced or removed, as far as they are certain."""
        try:
            for state in self.read(replace(change, new=change.old), today=False):
                yield from state.content.uris
        except UnknownStateError:
            return

    def data(self, change: PathChange) -> bytes | None:
        """Return the bytes of a file after a change; `None` where they are not on this machine."""
        if change.new is None or change.new.startswith(UNCOMMITTED):
            return self._as_built(change)
        data = self._repository.blob(change.new)
        return None if data is None or data.startswith(_POINTER) else data

    def _as_built(self, change: PathChange) -> bytes | None:
        """Return the bytes of a file of today, which is in the work tree, unless the checkout is sparse."""
        file = self._repository.top / change.path
        if change.new and file.is_file():
            return file.read_bytes()
        return None if change.new is None or change.new.startswith(UNCOMMITTED) else self.data(change)
