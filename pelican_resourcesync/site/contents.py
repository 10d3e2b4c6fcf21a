"""Contents: what a source, of now or of the past, is to Pelican, by Pelican's own rules.

Metadata alone is parsed, because only metadata makes URLs: Pelican's `Readers` do it, on the blob's bytes, with the
body left out where the format is known (Markdown, reStructuredText).
"""

import logging
import posixpath
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pelican import signals
from pelican.contents import Article, Page, SkipStub, Static
from pelican.contents import Content as PelicanContent
from pelican.readers import Readers

from pelican_resourcesync.site.heads import FromMemory, replace_readers
from pelican_resourcesync.site.listings import Listing, Listings
from pelican_resourcesync.site.roles import Role, Roles
from pelican_resourcesync.site.uris import uri_of, uri_of_path

_CLASSES: Mapping[Role, type[PelicanContent]] = {Role.ARTICLE: Article, Role.PAGE: Page, Role.STATIC: Static}


@dataclass(frozen=True, slots=True, eq=False)
class Content:
    """A content at one time: where it is published and what its pages and listings show of it.

    `version` is equal for two contents that show the same: bytes, and what was made of the path. `published` is
    false for drafts, hidden and skipped contents: those are no resources. `uri` is empty where nothing is written
    (a `…_SAVE_AS` that is empty); listings may show such a content all the same. `appears` is when the content
    becomes public by its own date, where Pelican's `WITH_FUTURE_DATES` is off. `family` is what it shares with its
    translations. `copies` are the URIs of `OUTPUT_SOURCES`.
    """

    source: str
    role: Role
    uri: str
    version: tuple[object, ...]
    published: bool = True
    title: str = ""
    lang: str = ""
    family: tuple[object, ...] | None = None
    original: bool = True
    marked_translation: bool = False
    order: Any = None
    appears: datetime | None = None
    listings: tuple[Listing, ...] = ()
    listings_of_any: tuple[Listing, ...] = ()
    copies: tuple[str, ...] = ()


class Pin:
    """What the build says of a source of today: the URI at which it is published."""

    def __init__(self, uri: str, ask: Callable[[], str | None]) -> None:
        """Take what the build says, and how to `ask` Pelican's rules for the URI that they give."""
        self.uri = uri
        self._ask = ask

    @cached_property
    def said(self) -> str | None:
        """The URI that Pelican's rules give for the source of today; asked only where another state of it matters."""
        return self._ask()


#: A state of a source: its path, the name of its blob, and its role.
Key = tuple[str, str, Role]

#: The sources of today, by path and role.
Pins = dict[tuple[str, Role], Pin]


class Descending:
    """A value that sorts the other way round, for Pelican's `reversed-…` orders."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        """Take the value to compare by."""
        self.value = value

    def __lt__(self, other: "Descending") -> bool:
        """Tell whether this comes before `other`."""
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        """Tell whether neither comes first."""
        return isinstance(other, Descending) and bool(other.value == self.value)

    __hash__ = None  # type: ignore[assignment]  # an order, not a key


class Contents:
    """Reads contents for one site. Holds a temporary folder: use as a context manager."""

    def __init__(self, settings: Mapping[str, Any], siteurl: str, pins: Pins) -> None:
        """Take Pelican's settings, the site's URL without a slash at its end, and what `pin` is to remember."""
        self._settings = {
            **settings,
            "CACHE_CONTENT": False,
            "LOAD_CONTENT_CACHE": False,
            "WITH_FUTURE_DATES": True,
            "DEFAULT_DATE": None if settings.get("DEFAULT_DATE") == "fs" else settings.get("DEFAULT_DATE"),
        }
        self._siteurl = siteurl
        self.listings = Listings(settings, siteurl)
        self._hides_future = not settings["WITH_FUTURE_DATES"]
        self._memo: dict[Key, Content | None] = {}
        self._pins = pins
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
        if key not in self._memo:
            self._memo[key] = self._read(path, role, name, data)
        return self._pinned(self._memo[key], path, role, name)

    def pin(self, key: Key, uri: str, found: PelicanContent, data: Callable[[], bytes | None]) -> None:
        """Take the word of the build for what a source of today is, and for its `uri`.

        `found` is Pelican's own object. Pelican's rules may say another URI than what a plug-in did: from then on
        whatever they say for the source as it is now, whose bytes are `data()`, means `uri`; nothing, perhaps.
        """
        path, name, role = key

        def ask() -> str | None:
            said = self._read(path, role, name, data())
            return said.uri if said else None

        self._pins[path, role] = Pin(uri, ask)
        with suppress(Exception):  # what a plug-in made of its object; then the rules alone are asked
            self._memo[key] = replace(self._content(found, path, role, name), uri=uri)

    def _pinned(self, content: Content | None, path: str, role: Role, name: str) -> Content | None:
        pin = self._pins.get((path, role))
        if pin is None or (content is not None and content.uri == pin.uri):
            return content
        if pin.said != (content.uri if content else None):  # another state of it, or under other settings
            return content
        return replace(content, uri=pin.uri) if content else Content(path, role, pin.uri, (name,))

    def knows(self, path: str, role: Role, name: str) -> bool:
        """Tell whether `read` needs no bytes for this."""
        return role is Role.STATIC or (path, name, role) in self._memo

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
            if role is not Role.STATIC and not isinstance(found, SkipStub) and not found.is_valid():
                return None
            return self._content(found, path, role, name)

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

    def _content(self, found: Any, path: str, role: Role, name: str) -> Content:
        if isinstance(found, SkipStub):
            return Content(path, role, "", (name,), published=False)
        if role is Role.STATIC:
            return Content(path, role, self._uri(found), (name,))
        return self._page_or_article(found, path, role, name)

    def _page_or_article(self, found: Any, path: str, role: Role, name: str) -> Content:
        settings, is_article = self._settings, role is Role.ARTICLE
        category = getattr(found, "category", None)
        date = getattr(found, "date", None)
        published = found.status == "published"
        return Content(
            source=path,
            role=role,
            uri=self._uri(found),
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
        )

    def _uri(self, found: PelicanContent) -> str:
        save_as = found.save_as  # worked out anew each time
        return uri_of(self._siteurl, found.url, save_as) if save_as else ""

    def _copies(self, found: PelicanContent) -> tuple[str, ...]:
        path = copied_source(found, self._settings)
        return (uri_of_path(self._siteurl, path),) if path else ()


def copied_source(content: Any, settings: Mapping[str, Any]) -> str | None:
    """Give the path in the output to which the source of a content is copied (`OUTPUT_SOURCES`), if it is."""
    if not settings["OUTPUT_SOURCES"] or not content.save_as:
        return None
    return str(posixpath.splitext(content.save_as)[0] + settings["OUTPUT_SOURCES_EXTENSION"])


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
    if down:
        return (f"reversed-{type(value).__name__}", Descending(value), found.slug)
    return (type(value).__name__, value, found.slug)


@contextmanager
def quiet_reading() -> Iterator[None]:
    """Keep the reading of the past out of the log: nobody can mend what is no longer there."""
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(before)
