"""The HTML pages for people: one for the site, one for each set, and a badge for each set to show elsewhere."""

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any
from urllib.parse import quote, unquote

from jinja2 import BytecodeCache, ChoiceLoader, Environment, FileSystemLoader, PackageLoader, PrefixLoader
from jinja2.bccache import Bucket
from markupsafe import Markup

from pelican_resourcesync.errors import PublicationError
from pelican_resourcesync.protocol import Capability, ChangeKind, Entry, render_datetime
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.model.layout import DESCRIPTION, FOLDER, HTML_PAGE, Layout
from pelican_resourcesync.publication.model.options import Options, PageOptions
from pelican_resourcesync.publication.model.state import ChangeListSummary, parse_state
from pelican_resourcesync.publication.pages.overview import DOCUMENTS, Amount, Overview, mirror_command
from pelican_resourcesync.publication.pages.translations import Language

#: How much a page shows: bars, rows of tables, characters of a URI.
_MOST_BARS, _MOST_ROWS, _MOST_TYPES, _MOST_CHARACTERS = 200, 24, 20, 200
#: The width of the chart and of its bars, and the height of the highest bar, in units of the drawing.
_CHART, _WIDEST, _NARROWEST, _HIGHEST = 900, 40, 4, 100

#: How often something changes, by the period.
_RATES = {
    "day": "about %(number)s changes a day",
    "week": "about %(number)s changes a week",
    "month": "about %(number)s changes a month",
    "year": "about %(number)s changes a year",
}
_OTHERS = re.compile(r"(<!-- other sets: begin -->\n).*?(<!-- other sets: end -->)", re.DOTALL)
_LANGUAGE = re.compile(r'<html lang="([A-Za-z0-9-]+)"')
_CAPABILITY_LIST = re.compile(rf"(?:.*/)?{FOLDER}/([^/]+)/(?:[0-9]+/)?capabilitylist\.xml")


@dataclass(frozen=True, slots=True)
class PageSet:
    """A published set: its options and what it contains."""

    options: Options
    overview: Overview


def write_pages(stage: Stage, sets: Sequence[PageSet], others: Sequence[Entry]) -> None:
    """Write the page of the site, and for each set its page and badge; `others` are other publishers' sets.

    A repository leaves the page of a site that publishes into the same output: only the other sets on it are brought up
    to date.

    Raises `PublicationError` if a template of the theme fails.
    """
    options = sets[0].options
    found = [_other(options.output, options.layout, each.loc) for each in others]
    page, of_repository = options.output / HTML_PAGE, sets[0].overview.of_repository
    names = _names_of_site(options, [each.options.layout for each in sets]) if of_repository else set()
    if names and page.is_file():
        found += [_other(options.output, each.options.layout, _capability_list(each)) for each in sets]
        text = page.read_bytes().decode("utf-8", "surrogateescape")
        text = _with_others(text, [each for each in found if each.name not in names])
        stage.write(HTML_PAGE, text.encode("utf-8", "surrogateescape"))
    else:
        stage.write(HTML_PAGE, _Pages(options, HTML_PAGE).front(sets, found).encode())
    for each in sets:
        layout = each.options.layout
        pages = _Pages(each.options, layout.html_page)
        stage.write(layout.html_page, pages.set(each, several=len(sets) > 1 or bool(names)).encode())
        stage.write(layout.badge, pages.badge(each).encode())


def _capability_list(each: PageSet) -> str:
    return each.options.layout.uri(each.options.layout.capability_list)


@dataclass(frozen=True, slots=True, order=True)
class _Other:
    """A set of another publisher: its name, and where its page or else its Capability List is."""

    name: str
    href: str


def _other(output: Path, layout: Layout, uri: str) -> _Other:
    """Return what the page shows of another set; its page, if it has one here."""
    match = _CAPABILITY_LIST.fullmatch(uri)
    if match is None:
        return _Other(uri, uri)
    name = unquote(match[1])
    own = uri == layout.uri(layout.capability_list)
    if own or (output / FOLDER / name / "index.html").is_file():
        return _Other(name, f"{match[1]}/index.html")
    return _Other(name, uri.removeprefix(f"{layout.siteurl}/{FOLDER}/"))


def _names_of_site(options: Options, own: Sequence[Layout]) -> set[str]:
    """Return the names of a site's sets in the output; a repository's state says when it was read (`read_as_of`)."""
    ours = {each.state for each in own}
    names = set()
    homes = (Layout(options.layout.siteurl, each.name) for each in sorted((options.output / FOLDER).glob("*/")))
    for layout in (each for each in homes if each.state not in ours and (options.output / each.state).is_file()):
        try:
            state = parse_state((options.output / layout.state).read_bytes(), layout.state)
        except PublicationError:
            continue
        if state.read_as_of is None and state.siteurl == layout.siteurl:
            names.add(layout.set_name)
    return names


def _with_others(page: str, others: Iterable[_Other]) -> str:
    """Return a page with these other sets, in its own language."""
    tag = _LANGUAGE.search(page)
    environment = _environment(PageOptions(language=tag[1] if tag else "en"))
    text = environment.get_template("resourcesync/others.html").render(others=sorted(set(others)))
    return _OTHERS.sub(lambda match: f"{match[1]}{text}{match[2]}", page)


class _Pages:
    """The writer of one page; its links to documents are relative to `path`."""

    def __init__(self, options: Options, path: str) -> None:
        self._options, self._path = options, path
        self._language = Language.of(options.page.language)
        self._environment = _environment(options.page)

    def front(self, sets: Sequence[PageSet], others: Iterable[_Other]) -> str:
        return self._render(
            "index.html", sets, others=sorted(set(others)), title=self._title(), heading=self._heading()
        )

    def set(self, shown: PageSet, *, several: bool) -> str:
        name = shown.options.layout.set_name
        part = f": {self._text('Set %(name)s') % {'name': name}}" if several else ""
        return self._render(
            "set.html", [shown], several=several, title=self._title() + part, heading=self._heading() + part
        )

    def badge(self, shown: PageSet) -> str:
        return self._template("badge.svg", text=_badge_text(shown.overview), width=_badge_width(shown.overview))

    def _heading(self) -> str:
        return " ".join(self._options.site_name.split()) or self._text("This site")

    def _title(self) -> str:
        name = " ".join(self._options.site_name.split())
        text = self._text("%(name)s over ResourceSync") if name else self._text("This site over ResourceSync")
        return text % {"name": name} if name else text

    def _text(self, english: str) -> str:
        return self._language.text(english)

    def _render(self, template: str, sets: Sequence[PageSet], **values: Any) -> str:
        layout, page = sets[0].options.layout, self._options.page
        return self._template(
            template,
            sets=[self._set(each) for each in sets],
            site_name=self._options.site_name,
            language=self._language.code,
            at=max(each.overview.at for each in sets),
            command=mirror_command(layout.siteurl),
            facts=page.facts if len(sets) == 1 else (),
            license=page.license,
            contact=page.contact,
            front=self._href(HTML_PAGE),
            description=self._href(DESCRIPTION),
            capability_list=self._href(layout.capability_list),
            **values,
        )

    def _template(self, name: str, **values: Any) -> str:
        try:
            return self._environment.get_template(f"resourcesync/{name}").render(
                {**self._options.page.variables, **values}
            )
        except Exception as error:
            if not self._options.page.templates:
                raise
            file, line = (getattr(error, each, None) for each in ("filename", "lineno"))
            where = f"{file}:{line}: " if file and line else ""
            message = (
                f"the page for people cannot be written: {where}{type(error).__name__}: {error}: correct the theme's "
                f"templates/resourcesync/{name}, or remove it"
            )
            raise PublicationError(message) from error

    def _href(self, path: str) -> str:
        """Return the link to a document, relative to this page, so that it works from a file too."""
        return quote(posixpath.relpath(path, posixpath.dirname(self._path)))

    def _set(self, shown: PageSet) -> dict[str, Any]:
        """Return what the templates show of a set."""
        overview, layout = shown.overview, shown.options.layout
        types = list(overview.types.items())
        bars = [*self._bars(overview.ranges[-_MOST_BARS:])]
        return {
            "name": layout.set_name,
            "total": overview.total,
            "changes": overview.changes,
            "last": overview.last,
            "open": overview.open,
            "bars": bars,
            "width": len(bars) * _unit(len(bars)),
            "highest": max((each["changes"] for each in bars), default=0),
            "rows": bars[: -_MOST_ROWS - 1 : -1],
            "earlier": max(0, len(overview.ranges) - _MOST_ROWS),
            "latest": [
                {
                    "time": each.time,
                    "kind": each.kind,
                    "name": _shown(each.uri, layout),
                    "href": _visit(each.uri),
                }
                for each in overview.latest
            ],
            "types": [
                {"name": name, "number": each.number, "size": each.size, "share": _share(each, overview.total)}
                for name, each in types[:_MOST_TYPES]
            ],
            "more_types": max(0, len(types) - _MOST_TYPES),
            "years": list(overview.years.items()),
            "documents": [*self._documents(overview)],
            "rate": self._rate(overview.rate),
            "resource_list": self._href(layout.resource_list),
            "change_list_index": self._href(layout.change_list_index),
            "page": self._href(layout.html_page),
            "page_uri": layout.uri(layout.html_page),
            "badge": self._href(layout.badge),
            "badge_uri": layout.uri(layout.badge),
            "badge_text": _badge_text(overview),
            "badge_width": _badge_width(overview),
            **{kind: sum(getattr(each, kind) for each in overview.ranges) for kind in ChangeKind},
        }

    def _bars(self, ranges: Sequence[ChangeListSummary]) -> Iterator[dict[str, Any]]:
        highest = max((each.changes for each in ranges), default=0) or 1
        unit = _unit(len(ranges))
        for number, each in enumerate(ranges):
            below, parts = 0, []
            for kind, count in (("c", each.created), ("u-kind", each.updated), ("d", each.deleted)):
                below += count
                if count:
                    y, height = (_decimal(value * _HIGHEST / highest) for value in (highest - below, count))
                    parts.append((kind, y, height, count))
            yield {
                "href": self._href(each.path),
                "start": each.start,
                "until": each.until,
                "changes": each.changes,
                "created": each.created,
                "updated": each.updated,
                "deleted": each.deleted,
                "x": number * unit,
                "width": unit - max(1, unit // 6),
                "parts": parts,
            }

    def _documents(self, overview: Overview) -> Iterator[dict[str, str]]:
        yield self._document("Source Description", DESCRIPTION, "where clients start: all sets of this site")
        amounts: Mapping[Capability, str] = {
            Capability.RESOURCEDUMP: self._packages(overview.dump),
            Capability.CHANGEDUMP: self._packages(overview.change_dump),
            **{
                each: self._text("Documents: %(number)s, since %(date)s")
                % {"number": self._language.number(found.number), "date": self._language.date(found.since)}
                for each, found in overview.archives.items()
            },
        }
        for capability, (name, purpose) in DOCUMENTS.items():
            if capability in overview.documents:
                yield self._document(name, overview.documents[capability], purpose, amounts.get(capability, ""))
            if capability is Capability.CHANGELIST and overview.open:
                since = self._text("the changes since %(date)s; it still grows") % {
                    "date": self._language.date(overview.open.start)
                }
                yield self._document("Open Change List", overview.open.path, since)

    def _document(self, name: str, path: str, purpose: str, amount: str = "") -> dict[str, str]:
        return {"name": name, "href": self._href(path), "purpose": self._text(purpose), "amount": amount}

    def _packages(self, amount: Amount) -> str:
        values = {"number": self._language.number(amount.number), "size": self._language.size(amount.size)}
        return self._text("Packages: %(number)s, %(size)s") % values

    def _rate(self, rate: tuple[float, str] | None) -> str:
        """Return how often something changes."""
        if rate is None:
            return ""
        number, period = rate
        return self._text(_RATES[period]) % {"number": self._language.number(number, int(number < 10))}  # noqa: PLR2004


class _CompiledTemplates(BytecodeCache):
    """The templates compiled in this process: compiling them takes longer than all else that is done for the pages."""

    def __init__(self) -> None:
        self._codes: dict[tuple[str, str], CodeType] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._codes.get((bucket.key, bucket.checksum))

    def dump_bytecode(self, bucket: Bucket) -> None:
        if bucket.code is not None:
            self._codes[bucket.key, bucket.checksum] = bucket.code


_COMPILED = _CompiledTemplates()


def _environment(page: PageOptions) -> Environment:
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
        bytecode_cache=_COMPILED,
        optimized=False,  # which would apply the filters of one page's language while compiling
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    language = Language.of(page.language)
    environment.filters |= {
        **page.filters,
        "number": language.number,
        "size": language.size,
        "date": language.date,
        "iso": render_datetime,
        "minute": _minute,
        "short": _short,
        "linkable": _linkable,
    }
    environment.globals["_"] = partial(_translate, language)
    return environment


def _translate(language: Language, english: str, **values: str) -> Markup:
    """Return a text of ours, in which values are escaped."""
    text = Markup(language.text(english))  # noqa: S704 - from our catalogs
    return text % values if values else text


def _minute(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%d %H:%M}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"


def _linkable(text: str) -> bool:
    return text.startswith(("https://", "http://", "mailto:"))


def _shown(uri: str, layout: Layout) -> str:
    """Return a URI as people read it: without the address of the site, and with its characters."""
    path = uri.removeprefix(layout.siteurl)
    return _short("".join(each if each.isprintable() else "\N{REPLACEMENT CHARACTER}" for each in unquote(path)))


def _visit(uri: str) -> str:
    """Return the address of a resource to visit, `""` if a browser should not."""
    return uri if uri.startswith(("https://", "http://")) else ""


def _share(part: Amount, total: Amount) -> str:
    return _decimal(100 * part.number / total.number)


def _decimal(number: float) -> str:
    return f"{number:.3f}".rstrip("0").rstrip(".")


def _unit(bars: int) -> int:
    return max(_NARROWEST, min(_WIDEST, _CHART // max(1, bars)))


def _badge_text(overview: Overview) -> str:
    number = overview.total.number
    return f"{number:,} resource{'' if number == 1 else 's'}"


def _badge_width(overview: Overview) -> int:
    return 108 + 7 * len(_badge_text(overview))
