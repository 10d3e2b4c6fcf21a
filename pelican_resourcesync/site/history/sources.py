"""What a state of a source publishes: its URL, and the listings that it is in.

Today's sources are known from the build. Past sources are read with Pelican's own readers and today's settings. Only
the metadata at the head of a source is parsed, and each distinct head once.
"""

import hashlib
import logging
import posixpath
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Self

from pelican.contents import Article, Content, Page, SkipStub, Static
from pelican.readers import Readers

from pelican_resourcesync.site.history.head_readers import InMemoryReader, head_of, replace_readers
from pelican_resourcesync.site.history.listings import Listing, Listings
from pelican_resourcesync.site.outputs import OutputFile, Role, Roles, copied_source, uri_of
from pelican_resourcesync.transport import uri_of_path

_CLASSES: Mapping[Role, type[Content]] = {Role.ARTICLE: Article, Role.PAGE: Page, Role.STATIC: Static}


@dataclass(frozen=True, slots=True, eq=False)
class SourceOutput:
    """What one state of a source publishes.

    `uris` are those of its page or file and of a copy of the source (`OUTPUT_SOURCES`): none where it is a draft,
    hidden or skipped, or where nothing is written. `listings` are those that an article is in unless it is a
    translation, `listings_of_any` those that it is always in. `translation_group` is a key that it
    shares with its translations. `head` changes with the metadata. `draft_until` is the time until which an article is
    a draft (`WITH_FUTURE_DATES`).
    """

    source: str
    role: Role
    uris: tuple[str, ...] = ()
    published: bool = True
    head: str = ""
    order: Any = None
    translation_group: tuple[object, ...] = ()
    in_default_lang: bool = True
    marked_translation: bool = False
    listings: tuple[Listing, ...] = ()
    listings_of_any: tuple[Listing, ...] = ()
    draft_until: datetime | None = None


class Sources:
    """A reader of what the sources of one site publish. It has a temporary folder: use it as a context manager."""

    def __init__(
        self, settings: Mapping[str, Any], siteurl: str, written: Sequence[OutputFile], *, clean_urls: bool = False
    ) -> None:
        """Use Pelican's `settings`; `siteurl` has no trailing slash, and `written` are the resources of the build.

        `clean_urls` is as in `uri_of`.
        """
        self._clean_urls = clean_urls
        self._settings = {
            **settings,
            "CACHE_CONTENT": False,
            "LOAD_CONTENT_CACHE": False,
            "WITH_FUTURE_DATES": True,
            "DEFAULT_DATE_FORMAT": "",  # formatted dates are never in URLs, and are slow
            "DATE_FORMATS": {},
            "DEFAULT_DATE": None if settings.get("DEFAULT_DATE") == "fs" else settings.get("DEFAULT_DATE"),
        }
        self.siteurl = siteurl
        self.settings = settings
        self.uris = frozenset(each.uri for each in written)
        self._folder = tempfile.TemporaryDirectory(prefix="resourcesync-")
        roots = [str(root) for kind in ("ARTICLE", "PAGE") for root in settings[f"{kind}_PATHS"]]
        depth = max((root.count("..") for root in roots), default=0)  # so that no path leads out of the folder
        self._settings["PATH"] = self._path = posixpath.join(self._folder.name, *["content"] * depth)
        self._readers = Readers(self._settings)
        replace_readers(self._readers)
        self._roles = Roles(settings, tuple(self._readers.extensions))
        self._written = {(each.source, each.role): each for each in written if each.source and each.role}
        self._moved = {each.role: each for each in self._written.values() if _is_moved(each.content)}
        self._built: dict[tuple[str, Role], SourceOutput] = {}
        self._read: dict[tuple[str, Role, str], SourceOutput | None] = {}
        self._follows_rules: dict[tuple[str, Role], bool] = {}
        self.listings = Listings(settings, siteurl, clean_urls=clean_urls)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary folder."""
        self._folder.cleanup()

    def roles(self, source: str) -> Iterator[Role]:
        """Yield the roles of the source at a path relative to `PATH`: by the build, else by Pelican's rules."""
        built = [role for role in Role if (source, role) in self._written]
        role = None if built else self._roles.of(source)
        yield from built or ([role] if role else [])

    def ignores(self, path: str) -> bool:
        """Return whether Pelican ignores the file at a path because of its name."""
        return self._roles.ignored(posixpath.basename(path))

    def built_from(self, source: str, *, below: bool) -> Iterator[str]:
        """Yield the URIs that the build published from a source, or from all sources `below` a folder."""
        for each, role in list(self._written) if below else [(source, role) for role in Role]:
            if (each, role) in self._written and (not below or each.startswith(f"{source}/")):
                yield from self.built(each, role, None).uris

    def is_built(self, source: str, role: Role) -> bool:
        """Return whether the build published this source."""
        return (source, role) in self._written

    def built(self, source: str, role: Role, data: Callable[[], bytes | None] | None) -> SourceOutput:
        """Return what a source of the build publishes; `data` returns its bytes, where the head is needed."""
        content = self._built.get((source, role))
        if content is None:
            written = self._written[source, role]
            content = SourceOutput(source, role, (written.uri,))
            with suppress(Exception):  # a plug-in may have changed the object in any way
                content = self._content(written.content, source, role, "", written.uri)
            head = self._head(source, data()) if data and role is not Role.STATIC else ""
            content = replace(content, head=head)
            if head:
                self._read[source, role, head] = content
            self._built[source, role] = content = replace(content, draft_until=None)
        return content

    def past(self, source: str, role: Role, read: Callable[[], bytes | None]) -> SourceOutput | None:
        """Return what a past state of a source publishes; `None` where that is uncertain.

        It is uncertain where the bytes are missing, where Pelican's readers cannot parse them, and where a plug-in
        gives today's source (other sources, if there is none today) another URL than Pelican's rules do.
        """
        written = self._written.get((source, role))
        if role is Role.STATIC:
            return self.built(source, role, None) if written else self._parsed(source, role, b"", "")
        written = written or self._moved.get(role)
        data = read()
        if data is None:
            return None
        key = (source, role, self._head(source, data))
        if key not in self._read:
            content = self._parsed(source, role, data, key[2])
            certain = content is None or written is None or self._is_certain(content, written)
            self._read[key] = content if certain else None
        return self._read[key]

    def _is_certain(self, content: SourceOutput, written: OutputFile) -> bool:
        """Return whether the rules give the same URL as the build, for this state or for the output `written`."""
        if not content.uris or written.uri in content.uris:
            return True
        key = (str(written.source), content.role)
        if key not in self._follows_rules:
            data = (Path(str(written.content.settings["PATH"])) / key[0]).read_bytes()
            today = self._parsed(*key, data, "")
            self._follows_rules[key] = today is not None and written.uri in today.uris
        return self._follows_rules[key]

    def _head(self, source: str, data: bytes | None) -> str:
        reader = self._readers.readers.get(posixpath.splitext(source)[1][1:])
        return hashlib.sha1(head_of(reader, data or b""), usedforsecurity=False).hexdigest()

    def _parsed(self, source: str, role: Role, data: bytes, head: str) -> SourceOutput | None:
        try:
            with self._file(source, data):  # plug-ins get their signals: they may decide what is public
                found = self._readers.read_file(
                    base_path=self._path,
                    path=source,
                    content_class=_CLASSES[role],
                    fmt="static" if role is Role.STATIC else None,
                    context={},
                )
                if isinstance(found, SkipStub):
                    return SourceOutput(source, role, published=False, head=head)
                if role is not Role.STATIC:
                    relative = found.relative_source_path
                    found.get_relative_source_path = lambda *_: relative
                    found.override_save_as = found.save_as  # else computed again each time, also by `is_valid`
                    if not found.is_valid():
                        return None
                uri = (
                    uri_of(self.siteurl, found.url, found.save_as, clean_urls=self._clean_urls) if found.save_as else ""
                )
                return self._content(found, source, role, head, uri)
        except Exception:  # noqa: BLE001 - readers of plug-ins may raise anything for a past source
            return None

    @contextmanager
    def _file(self, source: str, data: bytes) -> Iterator[None]:
        reader = self._readers.readers.get(posixpath.splitext(source)[1][1:])
        if isinstance(reader, InMemoryReader):
            reader.data = data
        if isinstance(reader, InMemoryReader) or not data:
            yield
            return
        file = Path(self._path, source)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        try:
            yield
        finally:
            file.unlink(missing_ok=True)

    def _content(self, found: Any, source: str, role: Role, head: str, uri: str) -> SourceOutput:
        """Return what Pelican's object `found` publishes; `uri` is its URI, empty where nothing is written."""
        if role is Role.STATIC:
            return SourceOutput(source, role, (uri,))
        if found.status != "published":
            return SourceOutput(source, role, published=False, head=head)
        copy = copied_source(found, self._settings)
        copies = (uri_of_path(self.siteurl, copy),) if copy else ()
        if role is Role.PAGE:
            uris = (*filter(None, [uri]), *copies)
            return SourceOutput(source, role, uris, head=head, in_default_lang=found.in_default_lang)
        return SourceOutput(
            source=source,
            role=role,
            uris=(*filter(None, [uri]), *copies),
            head=head,
            order=_order(found, self._settings["ARTICLE_ORDER_BY"]),
            translation_group=_translation_group(found, source, self._settings["ARTICLE_TRANSLATION_ID"]),
            in_default_lang=found.in_default_lang,
            marked_translation=str(found.metadata.get("translation", "false")).lower() != "false",
            listings=self.listings.of_original(found),
            listings_of_any=self.listings.of_any(found),
            draft_until=None if self.settings["WITH_FUTURE_DATES"] else found.date,
        )


def _is_moved(content: Any) -> bool:
    """Return whether a plug-in has set the URL of a content object, instead of its metadata."""
    return hasattr(content, "override_save_as") and "save_as" not in content.metadata


def originals(translation_group: Sequence[SourceOutput]) -> Sequence[SourceOutput]:
    """Return the articles of a family that are not translations of another, as Pelican's `get_original_items` does."""
    candidates = [content for content in translation_group if not content.marked_translation] or translation_group
    return [content for content in candidates if content.in_default_lang] or candidates


def _translation_group(found: Any, source: str, translation_id: Any) -> tuple[object, ...]:
    if not translation_id:
        return (source,)
    names = [translation_id] if isinstance(translation_id, str) else sorted(translation_id)
    return tuple(getattr(found, name) for name in names)


def _order(found: Any, order_by: Any) -> tuple[Any, ...]:
    """Return the key that Pelican's `order_content` sorts by. As there, articles with equal keys are sorted by slug."""
    if callable(order_by):
        value = order_by(found)
        return (type(value).__name__, value, found.slug)
    name = str(order_by or "slug")
    down = name.startswith("reversed-")
    name = name.removeprefix("reversed-")
    value = Path(found.source_path).name if name == "basename" else getattr(found, name, found.slug)
    kind = type(value).__name__
    if isinstance(value, datetime):  # of any subclass; numbers compare much faster
        kind = "datetime"
        value = -value.timestamp() if down else value.timestamp()
    elif down:
        value = _Descending(value)
    return (f"reversed-{kind}" if down else kind, value, found.slug)


class _Descending:
    """A value that sorts in reverse, for Pelican's `reversed-…` orders."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: "_Descending") -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Descending) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]  # for sorting only


@contextmanager
def quiet_reading() -> Iterator[None]:
    """Suppress log messages about past sources: nobody can correct a source that is no longer there."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
