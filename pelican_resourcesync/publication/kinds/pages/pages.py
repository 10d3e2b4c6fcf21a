"""The pages for people: of the site, and for each set its own, the list of all about changes, a feed and a badge."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

from pelican_resourcesync.protocol import Capability, ChangeKind, Entry
from pelican_resourcesync.publication.disk.staging import Stage
from pelican_resourcesync.publication.kinds.pages.changes import ChangeDay
from pelican_resourcesync.publication.kinds.pages.overview import DOCUMENTS, Amount, Overview, months
from pelican_resourcesync.publication.kinds.pages.rendering import WORDS, Page, environment_of, mirror_command
from pelican_resourcesync.publication.model.history import TitledChange
from pelican_resourcesync.publication.model.layout import DESCRIPTION, FOLDER, HTML_PAGE, Layout, set_of
from pelican_resourcesync.publication.model.options import SITE, Options, PageOptions
from pelican_resourcesync.publication.model.state import ChangeListSummary, PublicationState
from pelican_resourcesync.publication.previous.previous import sets_published_by, state_in

#: How much a page shows: days of changes, names of each, periods, media types; and how much a feed has.
_MOST_DAYS, _MOST_NAMES, _MOST_PERIODS, _MOST_TYPES, _MOST_IN_FEED = 7, 15, 12, 20, 50

#: How often something changes, by the period.
_RATES = {
    "day": "about %(number)s changes a day",
    "week": "about %(number)s changes a week",
    "month": "about %(number)s changes a month",
    "year": "about %(number)s changes a year",
}
_BEGIN, _END = "<!-- other sets: begin -->\n", "<!-- other sets: end -->"


class PageSet(NamedTuple):
    """A set that was published: its options, its state and its contents."""

    options: Options
    state: PublicationState
    overview: Overview


def write_pages(stage: Stage, sets: Sequence[PageSet], others: Sequence[Entry]) -> None:
    """Write the page of the site, and for each set its page, list of pages about changes, feed and badge.

    `others` are other publishers' sets.

    A repository leaves the page of a site that publishes into the same output: only the other sets on it are brought up
    to date.
    """
    options = sets[0].options
    found = [_other(options.output, options.layout, each.loc) for each in others]
    file, of_repository = options.output / HTML_PAGE, sets[0].overview.of_repository
    site = _sets_of_site(options, [each.options.layout for each in sets]) if of_repository else {}
    if site and file.is_file():
        for each in sets:
            layout = each.options.layout
            known = _other(options.output, layout, layout.uri(layout.capability_list))
            found.append(replace(known, resources=each.overview.total.number, at=each.overview.at))
        text = file.read_bytes().decode("utf-8", "surrogateescape")
        state = next(iter(site.values()))
        shown = PageOptions(language=state.language, timezone=state.timezone)
        text = _with_others(text, [each for each in found if each.name not in site], shown)
        stage.write(HTML_PAGE, text.encode("utf-8", "surrogateescape"))
    else:
        page = Page(options, HTML_PAGE)
        stage.write(HTML_PAGE, page.render("index.html", others=sorted(set(found)), **_shown(page, sets)))
    several = len(sets) > 1 or bool(site)
    for each in sets:
        layout = each.options.layout
        page = Page(each.options, layout.html_page)
        heading = [page.text("Set %(name)s", name=layout.set_name)] if several else []
        stage.write(layout.html_page, page.render("set.html", heading, several=several, **_shown(page, [each])))
        stage.write(layout.change_pages, _change_pages(page.at(layout.change_pages), each, heading))
        stage.write(layout.feed, _feed(page.at(layout.feed), each, heading))
        badge = page.at(layout.badge).render(
            "badge.svg", text=_badge_text(each.overview), width=_badge_width(each.overview)
        )
        stage.write(layout.badge, badge)


@dataclass(frozen=True, slots=True, order=True)
class _Other:
    """A set of another publisher: where its page or else its Capability List is, and how many resources it has."""

    name: str
    href: str
    resources: int = 0
    at: datetime | None = None


def _other(output: Path, layout: Layout, uri: str) -> _Other:
    """Return what the page shows of another set; its page, if it has one here."""
    found = set_of(uri)
    if found is None:
        return _Other(uri, uri)
    name = unquote(found[1])
    own = uri == layout.uri(layout.capability_list)
    state = state_in(output, Layout(layout.siteurl, name))
    numbers = (sum(each.counts.entries for each in state.parts), state.at) if state else ()
    if own or (output / FOLDER / name / "index.html").is_file():
        return _Other(name, f"{found[1]}/index.html", *numbers)
    return _Other(name, uri.removeprefix(f"{layout.siteurl}/{FOLDER}/"), *numbers)


def _sets_of_site(options: Options, own: Sequence[Layout]) -> dict[str, PublicationState]:
    """Return the sets of a site in the output, by name, without our `own`."""
    sets, names = sets_published_by(SITE, options.output, [options.layout.siteurl]), {each.set_name for each in own}
    return {name: state for name, state in sets.items() if name not in names}


def _with_others(page: str, others: Iterable[_Other], options: PageOptions) -> str:
    """Return a page with these other sets."""
    template = environment_of(options).get_template("resourcesync/others.html")
    text = template.render(others=sorted(set(others)))
    before, begin, rest = page.partition(_BEGIN)
    _, end, after = rest.partition(_END)
    return f"{before}{begin}{text}{end}{after}" if end else page


def _change_pages(page: Page, shown: PageSet, heading: Sequence[str]) -> bytes:
    """Return the page with links to all pages about changes."""
    heading = [*heading, page.text("All changes")]
    return page.render("periods.html", heading, at=shown.overview.at, periods=[*_periods(page, shown)])


def _feed(page: Page, shown: PageSet, heading: Sequence[str]) -> bytes:
    """Return the Atom feed of the latest changes of what people read or, if there is nothing, of all (RFC 4287)."""
    overview, layout = shown.overview, shown.options.layout
    read = [each for day in overview.days for each in day.read]
    found = read or [each for day in overview.days for each in day.files]
    text = "%(counts)s; what is withdrawn is not named"
    for day in overview.days:
        href = layout.uri(day.page)
        if removed := dict(day.unnamed).get(ChangeKind.DELETED):
            title = page.text(text, counts=page.language.number(removed))
            found.append(TitledChange(href, ChangeKind.DELETED, day.time, title, href))
    found.sort(key=attrgetter("time"), reverse=True)
    return page.render(
        "changes.atom",
        heading,
        id=layout.uri(layout.feed),
        page=layout.uri(layout.html_page),
        hubs=[each.url for each in shown.options.hubs],
        updated=found[0].time if found else overview.at,
        changes=found[:_MOST_IN_FEED],
    )


def _shown(page: Page, sets: Sequence[PageSet]) -> dict[str, Any]:
    """Return what the templates show of sets."""
    options = page.options.page
    return {
        "summary": _summary(page, sets[0].overview) if len(sets) == 1 else "",
        "feeds": [each.options.layout.feed for each in sets],
        "sets": [_shown_set(page, each, days) for each, days in zip(sets, _days(sets), strict=True)],
        "at": max(each.overview.at for each in sets),
        "command": mirror_command(sets[0].options.layout.siteurl),
        "facts": options.facts if len(sets) == 1 else (),
        "license": options.license,
        "contact": options.contact,
    }


def _days(sets: Sequence[PageSet]) -> Iterator[Sequence[ChangeDay]]:
    """Yield the latest changes of each set, without those of a day that a set before it has, too.

    Of what is withdrawn only the numbers are known: it is taken to be in a set before it that has lost as many.
    """
    seen = set[tuple[str, ChangeKind, date]]()
    most = Counter[tuple[ChangeKind, date]]()

    def others(changes: Sequence[TitledChange]) -> list[TitledChange]:
        return [change for change in changes if (change.uri, change.kind, change.time.date()) not in seen]

    for shown in sets:
        days = [
            replace(
                day,
                read=others(day.read),
                files=others(day.files),
                unnamed=[(kind, number) for kind, number in day.unnamed if number > most[kind, day.time.date()]],
            )
            for day in shown.overview.days
        ]
        seen.update((new.uri, new.kind, new.time.date()) for day in days for new in (*day.read, *day.files))
        most |= Counter({(kind, day.time.date()): number for day in days for kind, number in day.unnamed})
        yield [day for day in days if day.read or day.files or day.unnamed]


def _shown_set(page: Page, shown: PageSet, days: Sequence[ChangeDay]) -> dict[str, Any]:
    overview, layout = shown.overview, shown.options.layout
    types = list(overview.types.items())
    return {
        "name": layout.set_name,
        "total": overview.total,
        "changes": overview.changes,
        "last": overview.last,
        "began": overview.began,
        "pages": overview.pages,
        "new": _new(page, overview),
        "year": _year(page, shown),
        "days": days[:_MOST_DAYS],
        "names": _MOST_NAMES,
        "of_repository": overview.of_repository,
        "is_restart": overview.is_restart,
        "periods": [*islice(_periods(page, shown), _MOST_PERIODS)],
        "more_periods": max(0, len(overview.ranges) - _MOST_PERIODS),
        "types": [{"name": name, "number": each.number, "size": each.size} for name, each in types[:_MOST_TYPES]],
        "more_types": max(0, len(types) - _MOST_TYPES),
        "years": list(overview.years.items()),
        "documents": [*_documents(page, overview)],
        "rate": _rate(page, overview.rate),
        "resource_list": page.href(layout.resource_list),
        "page": page.href(layout.html_page),
        "page_uri": layout.uri(layout.html_page),
        "change_pages": page.href(layout.change_pages),
        "badge": page.href(layout.badge),
        "badge_uri": layout.uri(layout.badge),
        "badge_text": _badge_text(overview),
        "badge_width": _badge_width(overview),
    }


def _new(page: Page, overview: Overview) -> Mapping[str, int]:
    """Return the number of new pages in the last month with any, by its name."""
    label = page.text("New in %(month)s", month=page.language.month(overview.month or overview.at))
    return {label: overview.new} if overview.new else {}


def _summary(page: Page, overview: Overview) -> str:
    """Return the numbers that a reader wants first, as one line."""
    numbers = {"Pages": overview.pages} if overview.pages else {"Resources": overview.total.number}
    shown = {page.text(name): number for name, number in (dict(page.options.page.facts) or numbers).items()}
    shown |= _new(page, overview)
    last = page.language.date(overview.last) if overview.last else page.text("none yet")
    counted = (f"{name}: {page.language.number(number)}" for name, number in shown.items())
    return " · ".join([*counted, f"{page.text('Last change')}: {last}"])


def _periods(page: Page, shown: PageSet) -> Iterator[dict[str, Any]]:
    """Yield the Change Lists with the pages about them, the latest first."""
    for each in reversed(shown.overview.ranges):
        yield {"href": page.href(shown.options.layout.change_page(each.start)), "list": each}


def _documents(page: Page, overview: Overview) -> Iterator[dict[str, str]]:
    yield _document(page, "Source Description", DESCRIPTION, "where clients start: all sets of this site")
    amounts: Mapping[Capability, str] = {
        Capability.RESOURCEDUMP: _packages(page, overview.dump),
        Capability.CHANGEDUMP: _packages(page, overview.change_dump),
        **{
            each: page.text(
                "Documents: %(number)s, since %(date)s",
                number=page.language.number(found.number),
                date=page.language.date(found.since),
            )
            for each, found in overview.archives.items()
        },
    }
    for capability, (name, purpose) in DOCUMENTS.items():
        if capability in overview.documents:
            yield _document(page, name, overview.documents[capability], purpose, amounts.get(capability, ""))
        if capability is Capability.CHANGELIST and overview.open:
            since = page.text(
                "the changes since %(date)s; it still grows", date=page.language.date(overview.open.start)
            )
            yield _document(page, "Open Change List", overview.open.path, since)


def _document(page: Page, name: str, path: str, purpose: str, amount: str = "") -> dict[str, str]:
    return {"name": name, "href": page.href(path), "purpose": page.text(purpose), "amount": amount}


def _packages(page: Page, amount: Amount) -> str:
    return page.text(
        "Packages: %(number)s, %(size)s",
        number=page.language.number(amount.number),
        size=page.language.size(amount.size),
    )


def _rate(page: Page, rate: tuple[float, str] | None) -> str:
    """Return how often something changes."""
    if rate is None:
        return ""
    number, period = rate
    return page.text(_RATES[period], number=page.language.number(number, int(number < 10)))  # noqa: PLR2004 - 9.5 or 12


def _badge_text(overview: Overview) -> str:
    number = overview.total.number
    return f"{number:,} resource{'' if number == 1 else 's'}"


def _badge_width(overview: Overview) -> int:
    return 108 + 7 * len(_badge_text(overview))


def _year(page: Page, shown: PageSet) -> dict[str, Any]:
    """Return the last twelve months in UTC, and a column for those in which Change Lists begin.

    A column has the number of its first month, and its height in percent, which grows with the square root of the
    number of changes: a first publication does not hide single changes.
    """
    overview, layout = shown.overview, shown.options.layout
    begin = months(overview.at) - 11
    lists: dict[int, list[ChangeListSummary]] = {}
    for summary in overview.ranges:
        if summary.changes and (month := months(summary.start)) >= begin:
            lists.setdefault(month, []).append(summary)
    totals = {
        month: Counter({kind: sum(getattr(each, kind) for each in found) for kind in WORDS})
        for month, found in lists.items()
    }
    columns = []
    for (month, found), following in zip(lists.items(), [*lists, begin + 12][1:], strict=True):
        last = min(following - 1, months(overview.ends.get(found[-1].path, found[-1].start)))
        numbers = (
            page.text(f"%(number)s {WORDS[kind]}", number=page.language.number(number))
            for kind, number in totals[month].items()
            if number
        )
        period = " \N{EN DASH} ".join(page.language.month(_first_day(each)) for each in sorted({month, last}))
        columns.append(
            {
                "place": month - begin + 1,
                "months": last - month + 1,
                "href": page.href(layout.change_pages if found[1:] else layout.change_page(found[0].start)),
                "title": f"{period}: {', '.join(numbers)}",
                "counts": totals[month],
                "height": round(100 * (totals[month].total() / max(map(Counter.total, totals.values()))) ** 0.5),
            }
        )
    return {"months": [*map(_first_day, range(begin, begin + 12))], "columns": columns}


def _first_day(month: int) -> datetime:
    return datetime(month // 12, month % 12 + 1, 1, tzinfo=UTC)
