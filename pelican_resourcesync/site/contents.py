"""Contents: what a source, of now or of the past, is to Pelican, by Pelican's own rules.

Metadata alone is parsed, because only metadata makes URLs: Pelican's `Readers` do it, on the blob's bytes, with the
body left out where the format is known (Markdown, reStructuredText).
"""

import logging
import posixpath
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self
from weakref import WeakValueDictionary

from pelican import signals
from pelican.contents import Article, Page, SkipStub, Static
from pelican.contents import Content as PelicanContent
from pelican.readers import Readers

from pelican_resourcesync.git.worktree import UNCOMMITTED
from pelican_resourcesync.site.cache import Cache, Table
from pelican_resourcesync.site.content import Content, Descending
from pelican_resourcesync.site.heads import FromMemory, replace_readers
from pelican_resourcesync.site.listings import Listings
from pelican_resourcesync.site.records import Records
from pelican_resourcesync.site.roles import Role, Roles
from pelican_resourcesync.site.text import may_refer, metadata_of, with_text
from pelican_resourcesync.site.uris import uri_of, uri_of_path
from pelican_resourcesync.site.view import Views, words_of

_CLASSES: Mapping[Role, type[PelicanContent]] = {Role.ARTICLE: Article, Role.PAGE: Page, Role.STATIC: Static}


class Knowing:
    """What is known of sources from earlier builds; what is learned is added.

    What the builds made of their sources is apart from what was read of the `past`, which most builds need nothing of.
    """

    def __init__(self, cache: Cache, name: str) -> None:
        """Take the cache, and the name for all that this depends on."""
        self._cache = cache
        self._name = name

    @cached_property
    def built(self) -> Table:
        """Records of what builds made of their own sources."""
        return self._cache.table(f"{self._name} built")

    @cached_property
    def past(self) -> Table:
        """Records of what sources are by Pelican's rules."""
        return self._cache.table(f"{self._name} past")


class Pin:
    """What the build says of a source of today: the URI at which it is published, and what else it is to a reader."""

    def __init__(self, uri: str, ask: Callable[[], str | None], by: object, content: Content | None) -> None:
        """Take what the build says, how to `ask` Pelican's rules for the URI that they give, and who read `content`."""
        self.uri = uri
        self.by = by
        self.content = content
        self._ask = ask

    @cached_property
    def said(self) -> str | None:
        """The URI that Pelican's rules give for the source of today; asked only where another state of it matters."""
        return self._ask()


#: A state of a source: its path, the name of its blob, and its role.
Key = tuple[str, str, Role]

#: The sources of today, by path and role.
Pins = dict[tuple[str, Role], Pin]


class Contents:
    """Reads contents for one site. Holds a temporary folder: use as a context manager."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        siteurl: str,
        pins: Pins,
        views: Views | None = None,
        known: Knowing | None = None,
    ) -> None:
        """Take Pelican's settings, the site's URL without a slash at its end, and what `pin` is to remember.

        `views` are what pages show of contents, `known` is what was learned of sources in earlier builds.
        """
        self._settings = {
            **settings,
            "CACHE_CONTENT": False,
            "LOAD_CONTENT_CACHE": False,
            "WITH_FUTURE_DATES": True,
            "DEFAULT_DATE_FORMAT": "",  # no URL has a date as it is written out, which takes long
            "DATE_FORMATS": {},
            "DEFAULT_DATE": None if settings.get("DEFAULT_DATE") == "fs" else settings.get("DEFAULT_DATE"),
        }
        self._siteurl = siteurl
        self.listings = Listings(settings, siteurl)
        self._hides_future = not settings["WITH_FUTURE_DATES"]
        self._memo: WeakValueDictionary[Key, Content] = WeakValueDictionary()
        self._unreadable: set[Key] = set()
        self._pins = pins
        self.views = views or {}
        self._known = known or Knowing(Cache(None), "")
        self._records = Records(self._settings, self.listings)
        self._words = {summed_up: sorted(words_of(self.views, summed_up=summed_up)) for summed_up in (False, True)}
        self.settings = settings
        with ExitStack() as stack:
            self._tree = self._settings["PATH"] = stack.enter_context(
                tempfile.TemporaryDirectory(prefix="resourcesync-")
            )
            self._readers = Readers(self._settings)
            replace_readers(self._readers)
            self.roles = Roles(settings, tuple(self._readers.extensions))
            self._stack = stack.pop_all()

    def __enter__(self) -> Self:
        """Begin."""
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the temporary folder."""
        self._stack.close()

    def read(self, path: str, role: Role, name: str, data: bytes | None) -> Content | None:
        """Give what the source at `path` (relative to `PATH`), of blob `name` and bytes `data`, is.

        `None` where that cannot be known: the bytes are not there (`data` is `None`), or Pelican cannot parse
        them. A static file needs no bytes.
        """
        key = (path, name, role)
        content = self._memo.get(key) or self._recall(key)
        if content is None and key not in self._unreadable:
            content = self._read(path, role, name, data)
        if content is not None:
            self._memo[key] = content
        elif data is not None:  # what could not be had may be had another time
            self._unreadable.add(key)
        return self._pinned(content, path, role, name)

    def pin(
        self, key: Key, uri: str, found: PelicanContent, data: Callable[[], bytes | None], *, alone: bool = False
    ) -> None:
        """Take the word of the build for what a source of today is, and for its `uri`.

        `found` is Pelican's own object. Pelican's rules may say another URI than what a plug-in did: from then on
        whatever they say for the source as it is now, whose bytes are `data()`, means `uri`; nothing, perhaps. A source
        that is `alone` has no other state: what its text begins with is compared with nothing.
        """
        path, name, role = key

        def ask() -> str | None:
            said = self._recall(key) or self._read(path, role, name, data())
            return said.uri if said else None

        pinned = None
        with suppress(Exception):  # what a plug-in made of its object; then the rules alone are asked
            content = self._alone(found, key, uri, data()) if alone else self._recall(key, found)
            if content is None:
                content = self._content(found, key, data(), uri)
                self._keep(content, found, built=True)
            pinned = content if content.uri == uri else replace(content, uri=uri, _shows={}, _weights={})
            self._memo[key] = pinned
        self._pins[path, role] = Pin(uri, ask, self, pinned)

    def _alone(self, found: PelicanContent, key: Key, uri: str, data: bytes | None) -> Content | None:
        """Give the content of a source whose text need not be looked into; `None` where it refers to others."""
        if key[2] is Role.STATIC or isinstance(found, SkipStub) or may_refer(data or b""):
            return None
        content = self._page_or_article(found, key, uri)
        return replace(content, excerpts=dict.fromkeys(self._words[False], key[1]))

    def _pinned(self, content: Content | None, path: str, role: Role, name: str) -> Content | None:
        pin = self._pins.get((path, role))
        if pin is None or (content is not None and content.uri == pin.uri):
            return content
        if pin.said != (content.uri if content else None):  # another state of it, or under other settings
            return content
        if content:
            return replace(content, uri=pin.uri, _shows={}, _weights={})
        if pin.content is None or pin.by is not self:
            return Content(path, role, pin.uri, (name,))
        excerpts = dict.fromkeys(self._words[False], name)
        return replace(pin.content, version=(name,), excerpts=excerpts, _shows={}, _weights={})

    def knows(self, path: str, role: Role, name: str) -> bool:
        """Tell whether `read` needs no bytes for this."""
        key = (path, name, role)
        known = key in self._memo or key in self._unreadable
        return known or role is Role.STATIC or self._known.past.get(_name(key)) is not None

    def _recall(self, key: Key, found: PelicanContent | None = None) -> Content | None:
        """Give what was learned of a source in an earlier build, or what that build made of it: as of `found` now."""
        known = self._known.past if found is None else self._known.built
        record = None if key[2] is Role.STATIC else known.get(_name(key))
        content = None if record is None else self._records.content(record, key[0], key[2])
        if content is None or content.version[0] != key[1] or (found is not None and not _is_of(content, found)):
            return None
        return content

    def _keep(self, content: Content, found: Any, *, built: bool = False) -> None:
        """Keep what was learned for later builds. What a template does to an uncommitted file is not worth it."""
        name = content.version[0]
        if content.role is not Role.STATIC and not str(name).startswith(UNCOMMITTED):
            record = self._records.record(content, found)
            if record is not None:
                known = self._known.built if built else self._known.past
                known.put(_name((content.source, str(name), content.role)), record)

    def _read(self, path: str, role: Role, name: str, data: bytes | None) -> Content | None:
        if data is None and role is not Role.STATIC:
            return None
        with suppress(Exception):  # any reader of any plug-in may fail on a source of the past, in its own way
            return self._parse(path, role, name, data)
        if signals.content_object_init.receivers:  # a plug-in that needs a body is not asked
            with suppress(Exception), signals.content_object_init.muted():
                return self._parse(path, role, name, data)
        return None

    def _parse(self, path: str, role: Role, name: str, data: bytes | None) -> Content | None:
        with self._file(path, data) as file:
            found = self._readers.read_file(
                base_path=self._tree,
                path=file,
                content_class=_CLASSES[role],
                fmt="static" if role is Role.STATIC else None,
                context={},
            )
            if role is not Role.STATIC and not isinstance(found, SkipStub):
                relative = found.relative_source_path
                found.get_relative_source_path = lambda *_: relative
                found.override_save_as = found.save_as  # else worked out anew each time, by `is_valid` too
                if not found.is_valid():
                    return None
            content = self._content(found, (path, name, role), data)
            if not isinstance(found, SkipStub):
                self._keep(content, found)
            return content

    @contextmanager
    def _file(self, path: str, data: bytes | None) -> Iterator[str]:
        reader = self._readers.readers.get(posixpath.splitext(path)[1][1:])
        if isinstance(reader, FromMemory) and data is not None:
            reader.data, data = data, None
        if data is None:
            yield path
            return
        file = Path(self._tree, path)
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)
        try:
            yield path
        finally:
            with suppress(OSError):
                file.unlink()

    def _content(self, found: Any, key: Key, data: bytes | None, uri: str = "") -> Content:
        """Give what Pelican's object is; its `uri` is worked out where it is not given."""
        path, name, role = key
        if isinstance(found, SkipStub):
            return Content(path, role, "", (name,), published=False)
        uri = uri or self._uri(found)
        if role is Role.STATIC:
            return Content(path, role, uri, (name,))
        return with_text(self._page_or_article(found, key, uri), data or b"", self._words)

    def _page_or_article(self, found: Any, key: Key, uri: str) -> Content:
        path, name, role = key
        settings, is_article = self._settings, role is Role.ARTICLE
        category = getattr(found, "category", None)
        date = getattr(found, "date", None)
        published = found.status == "published"
        return Content(
            source=path,
            role=role,
            uri=uri,
            version=(name, found.slug, found.title, str(category), str(date), found.lang),
            published=published,
            title=str(found.title),
            lang=found.lang,
            family=_family(found, settings[f"{role.upper()}_TRANSLATION_ID"]),
            original=found.in_default_lang,
            marked_translation=str(found.metadata.get("translation", "false")).lower() != "false",
            order=(role, *_order(found, settings[f"{role.upper()}_ORDER_BY"]), path),
            appears=date.astimezone(UTC) if date and is_article and published and self._hides_future else None,
            listings=self.listings.of_original(found) if is_article else self.listings.of_page(),
            listings_of_any=self.listings.of_any(found) if is_article else (),
            copies=self._copies(found),
            template=str(found.template),
            metadata=dict(metadata_of(found)),
            category="" if category is None else str(category),
            tags=tuple(map(str, getattr(found, "tags", None) or ())),
        )

    def _uri(self, found: PelicanContent) -> str:
        save_as = found.save_as
        return uri_of(self._siteurl, found.url, save_as) if save_as else ""

    def _copies(self, found: PelicanContent) -> tuple[str, ...]:
        path = copied_source(found, self._settings)
        return (uri_of_path(self._siteurl, path),) if path else ()


def copied_source(content: Any, settings: Mapping[str, Any]) -> str | None:
    """Give the path in the output to which the source of a content is copied (`OUTPUT_SOURCES`), if it is."""
    if not settings["OUTPUT_SOURCES"] or not content.save_as:
        return None
    return str(posixpath.splitext(content.save_as)[0] + settings["OUTPUT_SOURCES_EXTENSION"])


def _name(key: Key) -> str:
    path, name, role = key
    return f"{role} {name} {path}"


def _is_of(content: Content, found: Any) -> bool:
    """Tell whether a content may be what Pelican's object is: a plug-in may have made another of the same source."""
    date, category = getattr(found, "date", None), getattr(found, "category", None)
    there = (found.slug, found.title, str(category), str(date), found.lang)
    return content.version[1:] == there and content.published == (found.status == "published")


def _family(found: Any, translation_id: Any) -> tuple[object, ...] | None:
    if not translation_id:
        return None
    names = [translation_id] if isinstance(translation_id, str) else sorted(translation_id)
    return tuple(getattr(found, name) for name in names)


def _order(found: Any, order_by: Any) -> tuple[Any, ...]:
    """Give what Pelican's `order_content` sorts by; ties are left in the order of the slug, as there."""
    if callable(order_by):
        value = order_by(found)
        return (type(value).__name__, value, found.slug)
    name = str(order_by or "slug")
    down = name.startswith("reversed-")
    name = name.removeprefix("reversed-")
    value = Path(found.source_path).name if name == "basename" else getattr(found, name, found.slug)
    kind = type(value).__name__
    if isinstance(value, datetime):  # of whatever class; as a number, which is compared much faster
        kind = "datetime"
        value = -value.timestamp() if down else value.timestamp()
    elif down:
        value = Descending(value)
    return (f"reversed-{kind}" if down else kind, value, found.slug)


@contextmanager
def quiet_reading() -> Iterator[None]:
    """Keep the reading of the past out of the log: nobody can mend what is no longer there."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
