"""How pages show things: templates, the theme's or ours, in the language of the site, and the titles of resources.

English texts are the keys of the catalogs of the other languages: German, French and Japanese.
"""

import json
import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, time, timedelta, tzinfo
from functools import lru_cache, partial
from importlib.resources import files
from pathlib import Path
from types import CodeType
from typing import Any, ClassVar, Self
from urllib.parse import quote, unquote, urljoin, urlsplit

from jinja2 import ChoiceLoader, Environment, FileSystemBytecodeCache, FileSystemLoader, PackageLoader, PrefixLoader
from jinja2.bccache import Bucket
from lxml import etree
from markupsafe import Markup

from pelican_resourcesync.content import FrontPage, read_front_page, read_title
from pelican_resourcesync.protocol import ChangeKind, render_datetime
from pelican_resourcesync.publication.model.layout import DESCRIPTION, HTML_PAGE, Layout
from pelican_resourcesync.publication.model.options import Options, PageOptions
from pelican_resourcesync.publication.model.resource import Resource
from pelican_resourcesync.system.media_types import media_type
from pelican_resourcesync.system.printable import get_logger, printable
from pelican_resourcesync.system.titles import HTML, clean, short, visible

logger = get_logger(__name__)

#: The languages besides English; each has a catalog in the folder `languages`.
TRANSLATED = ("de", "fr", "ja")

_MONTHS = {
    "en": "January February March April May June July August September October November December",
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "ja": "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
}
_SHORT_MONTHS = {
    "en": "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
    "de": "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
    "fr": "janv févr mars avr mai juin juil août sept oct nov déc",
    "ja": _MONTHS["ja"],
}
_DATES = {"de": "{day}. {month} {year}", "ja": "{year}年{month}{day}日"}
#: What separates thousands, and decimals.
_MARKS = {"en": (",", "."), "de": (".", ","), "fr": ("\u202f", ","), "ja": (",", ".")}
_UNITS = {"fr": ("octets", "ko", "Mo", "Go", "To")}
_STEP = 1000


@dataclass(frozen=True, slots=True)
class Language:
    """One of the languages of the pages: how it writes texts, numbers, sizes and dates, these in a time zone."""

    code: str = "en"
    catalog: Mapping[str, str] = field(default_factory=dict)
    zone: tzinfo = UTC

    @classmethod
    def of(cls, tag: str, zone: tzinfo = UTC) -> "Language":
        """Return the language for a tag such as `de-AT`, or English if the pages are not translated into it."""
        code = tag.replace("_", "-").partition("-")[0].lower()
        if code not in TRANSLATED:
            return cls(zone=zone)
        catalog = files(__package__) / "languages" / f"{code}.json"
        return cls(code, json.loads(catalog.read_text("utf-8")), zone)

    def text(self, english: str) -> str:
        """Return the translation of an English text."""
        return self.catalog.get(english, english)

    def number(self, number: float, digits: int = 0) -> str:
        """Return a number with so many decimals."""
        thousands, decimal = _MARKS[self.code]
        whole, _, rest = f"{number:,.{digits}f}".partition(".")
        return whole.replace(",", thousands) + (f"{decimal}{rest}" if rest else "")

    def size(self, number: int) -> str:
        """Return a number of bytes in a readable unit."""
        size, unit = float(number), 0
        units = _UNITS.get(self.code, ("bytes" if self.code == "en" else "Byte", "kB", "MB", "GB", "TB"))
        while size >= _STEP and unit < len(units) - 1:
            size, unit = size / _STEP, unit + 1
        return f"{self.number(size, 1 if unit else 0)}\u00a0{units[unit]}"

    def date(self, moment: datetime) -> str:
        """Return the day of a moment."""
        day = moment.astimezone(self.zone)
        month = _MONTHS[self.code].split()[day.month - 1]
        number = "1er" if (self.code, day.day) == ("fr", 1) else day.day
        return _DATES.get(self.code, "{day} {month} {year}").format(day=number, month=month, year=day.year)

    def minute(self, moment: datetime) -> str:
        """Return the time of day of a moment."""
        return f"{moment.astimezone(self.zone):%H:%M %Z}"

    def month(self, month: datetime) -> str:
        """Return a month with its year."""
        name = _MONTHS[self.code].split()[month.month - 1]
        return f"{month.year}年{name}" if self.code == "ja" else f"{name} {month.year}"

    def short_month(self, month: datetime) -> str:
        """Return the abbreviated name of a month."""
        return _SHORT_MONTHS[self.code].split()[month.month - 1]

    def period(self, begin: datetime, end: datetime) -> str:
        """Return an interval in UTC, as boundaries are: a calendar month, a day, or the first and the last day."""
        start = begin.astimezone(UTC)
        if start.day == 1 and end == (start + timedelta(days=31)).replace(day=1) and start.time() == time():
            return self.month(start)
        first, last = map(replace(self, zone=UTC).date, (begin, max(begin, end - timedelta.resolution)))
        return first if first == last else f"{first} \N{EN DASH} {last}"


#: The backgrounds on which colours are hardest to read, and the least contrast of text (WCAG 2.2, 1.4.3).
_PAPERS, _READABLE = {"light": "#f4f4f1", "dark": "#1e252a"}, 4.5

#: What people call the kinds of changes.
WORDS = {ChangeKind.CREATED: "new", ChangeKind.UPDATED: "changed", ChangeKind.DELETED: "removed"}


def language_hints(tag: str) -> list[str]:
    """Return a hint for a language that was set, and into which the pages are not translated."""
    if not tag or Language.of(tag).code == tag.replace("_", "-").partition("-")[0].lower():
        return []
    return [f"the page for people is in English, because there is no translation into {printable(tag)!r}"]


class Page:
    """One page or other file for people, at `path` in the output."""

    def __init__(self, options: Options, path: str) -> None:
        """Render it with the options of its set."""
        self.options, self.path = options, path
        self.language = Language.of(options.page.language, options.page.timezone)
        self._environment = environment_of(options.page)

    def at(self, path: str) -> Self:
        """Return another page of the set."""
        page = copy(self)
        page.path = path
        return page

    def render(self, template: str, heading: Sequence[str] = (), **values: Any) -> bytes:
        """Return what a template makes of these values; `heading` are the parts of its heading after the name.

        If a template of the theme fails, the page is that of our template, with a warning.
        """
        options, page, layout = self.options, self.options.page, self.options.layout
        name = visible(options.site_name) or layout.siteurl.partition("://")[2]
        values = {
            **page.variables,
            "name": name,
            "parts": heading,
            "title": ": ".join([self.text("What's new at %(name)s", name=name), *heading]),
            "uri": layout.uri(self.path),
            "icon": self._icon,
            "colors": self._colors,
            "home": page.home or f"{layout.siteurl}/",
            "language": self.language.code,
            "front": self.href(HTML_PAGE),
            "description": self.href(DESCRIPTION),
            "capability_list": self.href(layout.capability_list),
            "feeds": [layout.feed],
            "href": self.href,
            "page": self.href(layout.html_page),
            "change_pages": self.href(layout.change_pages),
            "path": partial(shown_path, layout=layout),
            "word": lambda kind: self.text(WORDS[kind]),
            **values,
        }
        name = f"resourcesync/{template}"
        try:
            return self._environment.get_template(name).render(values).encode()
        except Exception as error:
            if not page.templates:
                raise
            file, line = (getattr(error, each, None) for each in ("filename", "lineno"))
            where = f"{file}:{line}: " if file and line else ""
            logger.warning(  # which Pelican prints once, however many pages there are
                "ResourceSync: a page for people (%s) was written without the theme's templates (%s%s: %s): correct or "
                "remove the files in the theme's templates/resourcesync",
                *(template, where, type(error).__name__, str(error).rstrip(".")),
            )
        own = environment_of(PageOptions(language=page.language, timezone=page.timezone))
        return own.get_template(name).render(values).encode()

    def href(self, path: str) -> str:
        """Return the link to a document, relative to this page, so that it works from a file too."""
        folder = posixpath.dirname(self.path)
        return quote(path[len(folder) + 1 :] if path.startswith(f"{folder}/") else posixpath.relpath(path, folder))

    def text(self, english: str, **values: str) -> str:
        """Return a text in the language of the page."""
        return self.language.text(english) % values

    @property
    def _front(self) -> FrontPage:
        """What the site's own front page says of it; a repository has none."""
        options, file = self.options, self.options.output / "index.html"
        with suppress(OSError):
            if not options.of_repository:
                return _front_page(file, f"{options.layout.siteurl}/", file.stat().st_mtime_ns)
        return FrontPage()

    @property
    def _icon(self) -> str:
        """The link to the icon: the setting, or that of the front page, if it is a file here or outside of the site."""
        base = f"{self.options.layout.siteurl}/"
        url = urljoin(base, self.options.icon or self._front.icon or "favicon.ico")
        path = unquote(urlsplit(url).path.removeprefix(urlsplit(base).path))
        if not url.startswith(base):
            return url if url.startswith(("https://", "http://")) else ""
        return self.href(path) if os.path.isfile(self.options.output / path) else ""  # noqa: PTH113 - any name is allowed

    @property
    def _colors(self) -> Mapping[str, str]:
        """The colour of the site, by the modes in which it can be read on the background."""
        color = self.options.color or self._front.color
        return {mode: color for mode, paper in _PAPERS.items() if color and _contrast(color, paper) >= _READABLE}


@lru_cache(maxsize=1)  # all pages of a publication show it
def _front_page(file: Path, uri: str, _modified: int) -> FrontPage:
    return read_front_page(file, uri)


def _contrast(*colors: str) -> float:
    """Return the contrast of two colours, as WCAG 2.2 defines it."""
    channels = [[int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)] for color in colors]
    linear = [[c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in color] for color in channels]  # noqa: PLR2004 - of sRGB
    dark, light = sorted(0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05 for red, green, blue in linear)
    return light / dark


class _CompiledTemplates(FileSystemBytecodeCache):
    """The templates compiled by this process, and in a folder those of earlier ones.

    Compiling them takes longer than all else that is done for the pages.
    """

    _codes: ClassVar[dict[tuple[str, str], CodeType]] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))
        if bucket.code is None and self.directory:
            with suppress(OSError):
                super().load_bytecode(bucket)

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code
            if self.directory:
                with suppress(OSError):  # the next run compiles it again
                    Path(self.directory).mkdir(exist_ok=True)
                    super().dump_bytecode(bucket)


def environment_of(page: PageOptions) -> Environment:
    """Return the environment of the templates: those of the theme first, and ours, also as `!resourcesync/NAME`."""
    package = __package__.rpartition(".")[0]
    ours = PackageLoader(package, "pages/templates")
    loaders = [
        FileSystemLoader(page.templates),
        ours,
        PrefixLoader({"!resourcesync": PackageLoader(package, "pages/templates/resourcesync")}),
    ]
    environment = Environment(
        loader=ChoiceLoader(loaders),
        bytecode_cache=_CompiledTemplates(str(page.compiled or "")),
        optimized=False,  # which would apply the filters of one page's language while compiling
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    language = Language.of(page.language, page.timezone)
    environment.filters |= {
        **page.filters,
        "number": language.number,
        "size": language.size,
        "date": language.date,
        "period": language.period,
        "month": language.month,
        "short_month": language.short_month,
        "iso": render_datetime,
        "minute": language.minute,
        "utc": lambda time: f"{time.astimezone(UTC):%Y-%m-%d %H:%M} UTC",
        "short": short,
        "linkable": lambda text: text.startswith(("https://", "http://", "mailto:")),
    }
    environment.globals["_"] = partial(_translate, language)
    return environment


def _translate(language: Language, english: str, **values: str) -> Markup:
    """Return a text of ours, in which values are escaped."""
    text = Markup(language.text(english))  # noqa: S704 - from our catalogs
    return text % values if values else text


def mirror_command(siteurl: str) -> str:
    """Return the command that copies a site into a folder named after its host, quoted for any shell."""
    return f"pelican-resourcesync mirror {_quoted(f'{siteurl}/')} {_quoted(_folder(siteurl))}"


def restore_command(siteurl: str, time: datetime) -> str:
    """Return the command that copies a site as it was at a time, quoted for any shell."""
    at = render_datetime(time)
    return f"pelican-resourcesync restore {_quoted(f'{siteurl}/')} {_quoted(f'{_folder(siteurl)}-{at[:10]}')} --at {at}"


def _folder(siteurl: str) -> str:
    host = siteurl.partition("://")[2].partition("/")[0]
    return re.sub(r"[^A-Za-z0-9.-]+", "-", host).strip("-.") or "copy"


def _quoted(argument: str) -> str:
    """Return an argument as every shell takes it, quoted only where it must be."""
    return argument if re.fullmatch(r"[A-Za-z0-9_@%+=:,./-]+", argument) else "'" + argument.replace("'", "%27") + "'"


_LONGEST_RECORD = 1 << 20  # bytes
_XML = ("application/xml", "text/xml")
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"


def title_of(resource: Resource, layout: Layout, site_name: str) -> str:
    """Return the title of a resource, without the name of the site at its end; empty if people do not read it.

    People read pages, other HTML that does not only redirect, and the first record of an item, by its `dc:title`. A
    page without a title has its path as the title.
    """
    if resource.title is not None:
        return (clean(resource.title) or shown_path(resource.uri, layout)) if resource.title else ""
    type_ = (resource.measured.type if resource.measured else None) or ""
    if resource.file is None or any(link.rel == "canonical" for link in resource.links):
        return ""
    try:
        if type_ in HTML:
            title = read_title(resource.file, resource.uri)
            return "" if title is None else _without(site_name, clean(title)) or shown_path(resource.uri, layout)
        if type_ in _XML and resource.file.stat().st_size <= _LONGEST_RECORD:
            return clean(_title_of_record(resource.file))
    except (OSError, etree.XMLSyntaxError):
        pass  # the page shows the path instead
    return ""


def _without(site_name: str, title: str) -> str:
    """Return a title without the name of the site at its end."""
    name = clean(site_name)
    return re.sub(rf"(?<=.)\s*[-\u2013\u2014|\u00b7:\u00bb]\s*{re.escape(name)}$", "", title) if name else title


def is_html(uri: str) -> bool:
    """Return whether a resource is probably a page, by its URI alone."""
    return uri.endswith("/") or media_type(uri.partition("?")[0]) in HTML


def shown_path(uri: str, layout: Layout) -> str:
    """Return a URI as people read it: without the address of the site, and with its characters."""
    path = uri.removeprefix(layout.siteurl) if uri.startswith(f"{layout.siteurl}/") else uri
    shown = unquote(path)
    if not shown.isprintable():
        shown = "".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in shown)
    return clean(shown)


def _title_of_record(file: Path) -> str:
    """Return the title of a record in Dublin Core; other XML has none at this place."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True)
    return etree.parse(file, parser).getroot().findtext(_DC_TITLE) or ""
