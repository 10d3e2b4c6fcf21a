"""Seeded faults: in a valid document, one text is replaced by a fault of one rule, and by what only looks like it."""

import datetime as dt
from dataclasses import dataclass, replace

from pelican_resourcesync.checker.scan import STANDARD_LIMITS, CheckLimits
from tests.kit.documents import (
    A_SAID,
    BASE,
    CHANGE_MANIFEST,
    JANUARY,
    OLD,
    RESOURCE_MANIFEST,
    RESOURCES,
    SNAPSHOT,
    YEAR,
    A,
    B,
    document,
    entry,
    package,
    text,
)

RES, IDX, CH1, CH2, CIX = "resources-1.xml", "resources.xml", "changes-1.xml", "changes-2.xml", "changes.xml"
DESC, CAP, DUMP, CDUMP = "description.xml", "capabilitylist.xml", "dump.xml", "changedump.xml"
RM, CM, ARC = "dump-manifest.xml", "changes-manifest.xml", "changes-archive.xml"
UP = f'<rs:ln rel="up" href="{BASE}capabilitylist.xml"/>\n'
A_LOC = f"<loc>{BASE}a.txt</loc>"
LINK = '<rs:ln rel="duplicate" href="https://mirror.example/a.txt"/>'
VIA = LINK.replace("duplicate", "via")
END = "</url>\n<url>"


@dataclass(frozen=True)
class Fault:
    """In the document `base`, `old` becomes `new`, and the rule is broken; it becomes `near`, and none is."""

    rule: str
    base: str
    old: str
    new: str
    near: str
    level: str = "MUST"
    edition: int | None = None

    def __str__(self) -> str:
        new = self.new.replace(AFTER_TOMORROW, "after tomorrow")  # each process of a test run has its own time
        return f"{self.rule} {self.level} {new[:40]!a}"


def broken(fault: Fault) -> str:
    """Return the document with the fault."""
    every = -1 if fault.old == "sitemap>" else 1  # both tags of an element
    return text(fault.base).replace(fault.old, fault.new, every)


def linked(link: str) -> str:
    """Return an entry's end with one more link, and the begin of the next."""
    return f"{link}{END}"


def fault(rule: str, base: str, old: str, new: str, near: str, **options: object) -> Fault:
    """Make a fault whose rule may carry its level: `X05 SHOULD`."""
    identifier, _, level = rule.partition(" ")
    return Fault(identifier, base, old, new, near, level or "MUST", **options)  # type: ignore[arg-type]


def link_fault(rule: str, link: str, near: str, base: str = RES, **options: object) -> Fault:
    """Make a fault in a link of the first entry."""
    return fault(rule, base, END, linked(link), linked(near), **options)


#: Twelve hours from now, because clocks may be that wrong, and more than a day from now.
TOMORROW, AFTER_TOMORROW = (
    f"{dt.datetime.now(dt.UTC) + dt.timedelta(hours=hours):%Y-%m-%dT%H:%M:%SZ}" for hours in (12, 25)
)
TOPIC = entry("topic", 'capability="change-notification"')
HUBBED = entry("topic", 'capability="change-notification"', links=f'<rs:ln rel="hub" href="{BASE}hub"/>\n')
PATCH = 'rel="http://www.openarchives.org/rs/terms/patch" href="https://example.org/p"'
FAULTS = [
    fault("X01", RES, "</urlset>", "", "</urlset> <!-- end -->"),
    fault("X01", RES, '<?xml version="1.0" encoding="UTF-8"?>\n',
        '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE urlset>\n',
        '<?xml version="1.0" encoding="UTF-8"?>\n<!-- <!DOCTYPE urlset> -->\n'),
    fault("X01", RES, 'encoding="UTF-8"', 'encoding="ISO-8859-1"', 'encoding="utf-8"'),
    fault("X01", RES, "<loc>", "<loc>&nbsp;", "<loc>&#10;"),
    fault("X01", IDX, "sitemap>", "url>", "sitemap >"),
    fault("X01 SHOULD", RES, '<?xml version="1.0" encoding="UTF-8"?>\n', "", '<?xml version="1.0"?>\n'),
    fault("X01 SHOULD", RES, "<url>", "<news/>\n<url>", '<news xmlns="urn:x"/>\n<url>'),
    fault("X01 SHOULD", RES, A_LOC, f"{A_LOC}<news/>", f'{A_LOC}<news xmlns="urn:x"/>'),
    fault("X02", RES, "<url>", '<rs:md capability="resourcelist" at="2024-03-01T00:00:00Z"/>\n<url>',
        "<!-- <rs:md/> -->\n<url>"),
    fault("X02 SHOULD", RES, 'capability="resourcelist"', 'capability="list"', 'capability=" resourcelist "'),
    fault("X03", RES, "length=", "size=", 'xmlns:x="urn:x" x:size="1" length='),
    fault("X03", RES, "length=", "rs:length=", 'xmlns:x="urn:x" x:length="1" length='),
    fault("X03", RES, ' at="', ' size="1" at="', ' xmlns:x="urn:x" x:size="1" at="'),
    fault("X03", RES, 'rel="up"', 'rel="up" title="x"', 'rel="up" xmlns:x="urn:x" x:title="x"'),
    link_fault("X03", LINK.replace("/>", ' title="x"/>'), LINK.replace("/>", ' xmlns:x="urn:x" x:title="x"/>')),
    fault("X05", RES, "<lastmod>2024-02-02T00:00:00Z", "<lastmod>yesterday", "<lastmod>2024-02-02T00:00:00.123Z"),
    fault("X05", RES, 'at="2024-03-01T00:00:00Z"', 'at="2024-13-01"', 'at="2024-03-01T00:00:00.0Z"'),
    fault("X05", CH1, 'datetime="2024-01-02T00:00:00Z"', 'datetime="now"', 'datetime="2024-01-02T00:00:00.5Z"'),
    link_fault("X05", LINK.replace("/>", ' modified="x"/>'), LINK.replace("/>", ' modified="2024-01-01T00:00:00Z"/>')),
    fault("X05 SHOULD", RES, "<lastmod>2024-02-02T00:00:00Z", "<lastmod>2024-02-02", "<lastmod> 2024-02-02T00:00:00Z "),
    fault("X05 SHOULD", RES, 'at="2024-03-01T00:00:00Z"', 'at="2024-03-01T01:00:00+01:00"',
        'at="2024-03-01T00:00:00.25Z"'),
    fault("X05 SHOULD", CH1, 'datetime="2024-01-02T00:00:00Z"', 'datetime="2024-01-02"',
        'datetime="2024-01-02T00:00:00.5Z"'),
    fault("X05 SHOULD", RES, 'at="2024-03-01T00:00:00Z"', f'at="{AFTER_TOMORROW}"', f'at="{TOMORROW}"'),
    fault("X05 SHOULD", CH2, 'datetime="2024-02-03T00:00:00Z"', 'datetime="2999"', f'datetime="{TOMORROW}"'),
    fault("X05 SHOULD", CAP, "</loc>", "</loc><lastmod>8999-01-01</lastmod>", f"</loc><lastmod>{TOMORROW}</lastmod>"),
    fault("X05", RES, 'rel="up"', 'rel="up" modified="now"', 'rel="up" modified="2024-01-01T00:00:00Z"'),
    fault("X05 SHOULD", RES, 'rel="up"', 'rel="up" modified="2024-01-01"',
        'rel="up" modified="2024-01-01T00:00:00.5Z"'),
    fault("X05 SHOULD", RES, 'rel="up"', f'rel="up" modified="{AFTER_TOMORROW}"', f'rel="up" modified="{TOMORROW}"'),
    link_fault("X06", '<rs:ln rel="duplicate"/>', LINK),
    link_fault("X06", '<rs:ln href="https://example.org/"/>', LINK),
    link_fault("X06", LINK.replace("https://mirror.example", ""), LINK.replace("https", "gsiftp")),
    link_fault("X06", LINK.replace("duplicate", "Copy of"), LINK.replace("duplicate", "https://example.org/rel#copy")),
    fault("X06", RES, 'rel="index" ', "", 'rel="index" type="application/xml" '),
    link_fault("X06 SHOULD", LINK.replace("duplicate", "copy"), LINK.replace("duplicate", "urn:copy")),
    link_fault("X07", LINK.replace("/>", ' pri="0"/>'), LINK.replace("/>", ' pri="999999"/>')),
    link_fault("X07", LINK.replace("/>", ' pri="1000000"/>'), LINK.replace("/>", ' pri="1"/>')),
    fault("X08", RES, "sha-256:", "sha-256", "SHA-256:"),
    fault("X08", RES, 'hash="sha-256:', 'hash="md5:', 'hash="md5:0123456789abcdef0123456789ABCDEF sha-256:'),
    link_fault("X08", LINK.replace("/>", ' hash="md5:xyz"/>'), LINK.replace("/>", ' hash="crc32:ab12"/>')),
    fault("X09", RES, 'length="5"', 'length="-5"', 'length=" 5 "'),
    fault("X09", RES, 'type="text/plain"', 'type="text"', 'type="application/vnd.ms-excel; charset=utf-8"'),
    link_fault("X09", VIA.replace("/>", ' length="5 KB"/>'), VIA.replace("/>", ' length="5"/>')),
    fault("X10", RES, f"<loc>{BASE}a.txt", "<loc>/a.txt", "<loc>urn:a.txt"),
    fault("X10", RES, f"<loc>{BASE}a.txt", f"<loc>{BASE}a b.txt", f"<loc>{BASE}a%20b.txt"),
    fault("X10", RES, A_LOC, f"{A_LOC}{A_LOC}", f"{A_LOC}<!-- {A_LOC} -->"),
    fault("X10", RES, A_LOC, "", f" {A_LOC} "),
    fault("X10", RES, "a.txt</loc>", "a<rs:x/>.txt</loc>", "a<!-- x -->.txt</loc>"),
    fault("X10", RES, "a.txt</loc>", f"{'a' * (2048 - len(BASE))}</loc>", f"{'a' * (2047 - len(BASE))}</loc>"),
    fault("X11", RES, END, f'<rs:md type="text/plain"/>{END}', f"<!-- <rs:md/> -->{END}"),
    fault("X12", RES, "<rs:md hash", "<changefreq>Daily</changefreq><rs:md hash",
        "<changefreq> daily </changefreq><rs:md hash"),
    fault("X12", RES, "</lastmod>", "</lastmod><lastmod>2024-02-02T00:00:00Z</lastmod>",
        "</lastmod><changefreq>never</changefreq>"),
    fault("X04 SHOULD", IDX, UP, f'{UP}  <rs:ln rel="next" href="{BASE}resources.xml?page=2"/>\n',
        f'{UP}  <rs:ln rel="last" href="{BASE}resources.xml?page=2"/>\n'),
    fault("X13", RES, UP, "", f'{UP}  <rs:ln rel="via" href="{BASE}"/>\n'),
    fault("X13", CIX, UP, UP + UP, UP),
    fault("X14", RES, 'at="2024-03-01T00:00:00Z"', 'at="2024-03-01T00:00:00Z" from="2024-01-01T00:00:00Z"',
        f"{SNAPSHOT}"),
    fault("X14", CH1, f"{JANUARY}", f'{JANUARY} at="2024-01-01T00:00:00Z"', JANUARY),
    fault("X14", RES, A_SAID, f'{A_SAID} at="2024-03-01T00:00:00Z"', f'{A_SAID} modified="2024-01-01T00:00:00Z"'),
    fault("X14", CAP, 'capability="resourcelist"', 'capability="resourcelist" at="2024-01-01T00:00:00Z"',
        'capability="resourcelist" type="application/xml"'),
    fault("X15", IDX, "2024-03-01T00:10:00Z", "2024-02-01T00:10:00Z", "2024-03-01T00:00:00Z"),
    fault("X15", ARC, 'until="2024-02-01', 'until="2023-02-01', 'until="2024-01-01'),
    fault("SD03", DESC, 'capability="capabilitylist"', 'capability="resourcelist"',
        'capability="capabilitylist" type="application/xml"'),
    fault("SD04 SHOULD", DESC, f'<rs:ln rel="describedby" href="{BASE}about.html"/>\n<rs:md', "<rs:md",
        f'<rs:ln rel="describedby" href="{BASE}other.html"/>\n<rs:md'),
    fault("SD04 SHOULD", DESC, '"/><rs:ln rel="describedby"', '"/><rs:ln rel="alternate" type="a/b"',
        '"/><rs:ln rel="describedby" type="text/html"'),
    fault("CL02", CAP, 'rel="up"', 'rel="via"', f'rel="via" href="{BASE}x"/>\n<rs:ln rel="up"'),
    fault("CL03 SHOULD", CAP, 'rel="describedby"', 'rel="via"', 'rel="describedby" type="text/html"'),
    fault("CL04", CAP, 'capability="resourcedump"', 'capability="resourcelist"',
        'capability="resourcedump" type="application/xml"'),
    fault("CL04", CAP, '<rs:md capability="resourcedump"/>', "", '<rs:md capability="resourcedump" length="1"/>'),
    fault("CL05", CAP, 'capability="resourcedump"', 'capability="capabilitylist"', 'capability="resourcedump"'),
    fault("CL05", CAP, 'capability="changelist"', 'capability="changelistindex"', 'capability="changelist" length="1"'),
    fault("CL05 SHOULD", CAP, 'capability="resourcedump"', 'capability="oai-pmh"', 'capability="resourcedump"'),
    fault("CN04", CAP, END, f"</url>\n{TOPIC}<url>", f"</url>\n{HUBBED}<url>"),
    fault("RL01", RES, ' at="2024-03-01T00:00:00Z"', "", ' completed="2024-03-01T00:00:00Z" at="2024-03-01T00:00:00Z"'),
    fault("RL02 SHOULD", RES, "<lastmod>2024-02-02T00:00:00Z", "<lastmod>2024-03-01T00:00:01Z",
        "<lastmod>2024-03-01T00:00:00Z"),
    fault("RL03 SHOULD", RES, A_SAID, f'{A_SAID} change="updated"', f'{A_SAID} encoding="gzip"'),
    fault("RL04", IDX, ' at="2024-03-01T00:00:00Z" completed="2024-03-01T00:10:00Z"', "", ' at="2024-03-01T00:00:00Z"'),
    fault("RD01", DUMP, SNAPSHOT, "", ' at="2024-03-01T00:00:00Z"'),
    fault("RD01 SHOULD", DUMP, '<rs:md type="application/zip" ', "<rs:md ", '<rs:md type="application/x-zip" '),
    fault("RD03 SHOULD", DUMP, "</urlset>", entry("x.tar", 'type="application/x-tar" length="1"') + "</urlset>",
        entry("x.zip", 'type="application/zip" length="1"') + "</urlset>"),
    fault("RD05", RM, SNAPSHOT, "", ' at="2024-03-01T00:00:00Z"'),
    fault("RD05", RM, ' path="/a.txt"', "", ' path="/A.txt"'),
    fault("RD06", RM, 'path="/a.txt"', 'path="a.txt"', 'path="//a.txt"'),
    fault("RD07", "dump-index.xml", SNAPSHOT, "", ' at="2024-03-01T00:00:00Z"'),
    fault("CH01", CH2, ' from="2024-02-01T00:00:00Z"', "", ' from="2024-01-31T00:00:00Z"'),
    fault("CH02", CH1, 'change="created" ', "", 'change="updated" '),
    fault("CH02", CH1, 'change="created"', 'change="create"', 'change="deleted"'),
    fault("CH03", CH1, 'datetime="2024-01-02', 'datetime="2024-01-04', 'datetime="2024-01-03'),
    fault("CH05 SHOULD", CH2, "</urlset>", entry("lost.txt", 'change="created" datetime="2024-02-03T00:00:00Z"')
        + "</urlset>", entry("lost.txt", 'change="created" datetime="2024-02-03T00:00:00.001Z"') + "</urlset>"),
    fault("V1101", CH1, 'datetime="2024-01-02', 'datetime="2023-12-31', 'datetime="2024-01-01'),
    fault("V1101", CH1, 'datetime="2024-01-04', 'datetime="2024-02-02', 'datetime="2024-02-01'),
    fault("CH06", CIX, 'from="2024-02-01', 'from="2024-02-02', 'from="2024-01-31'),
    fault("CH06", CIX, YEAR, ' from="2023-01-01T00:00:00Z"', ' from="2024-01-01T00:00:00.0Z"'),
    fault("CH07", CIX, YEAR, "", ' from="2024-01-01T00:00:00.0Z"'),
    fault("CH07 SHOULD", CIX, YEAR, ' from="2024-01-01T00:00:01Z"', ' from="2024-01-01T00:00:00.0Z"'),
    fault("CH07 SHOULD", CIX, YEAR, f'{YEAR} until="2024-01-31T00:00:00Z"', f'{YEAR} until="2024-02-01T00:00:00Z"'),
    fault("CH07", CIX, 'from="2024-02-01', 'from="2023-02-01', 'from="2024-01-15'),
    fault("CH07 SHOULD", CIX, '<rs:md from="2024-02-01T00:00:00Z"/>', "",
        '<rs:md type="application/xml" from="2024-02-01T00:00:00Z"/>'),
    fault("CD01", CDUMP, YEAR, "", ' from="2024-01-01T00:00:00.0Z"'),
    fault("CD01 SHOULD", CDUMP, YEAR, ' from="2024-01-01T00:00:01Z"', ' from="2024-01-01T00:00:00.0Z"'),
    fault("CD01 SHOULD", CDUMP, YEAR, f'{YEAR} until="2024-01-31T00:00:00Z"', f'{YEAR} until="2024-02-01T00:00:00Z"'),
    fault("CD05 SHOULD", "changedump-index.xml", YEAR, ' from="2024-01-01T00:00:01Z"', ' from="2023-01-01T00:00:00Z"'),
    fault("CD01", CDUMP, "</urlset>", entry("x.zip", 'type="application/zip" length="1" from="2023-01-01T00:00:00Z"')
        + "</urlset>", entry("x.zip", 'type="application/zip" length="1" from="2024-02-01T00:00:00Z"') + "</urlset>"),
    fault("CD01 SHOULD", CDUMP, '<rs:md type="application/zip" ', "<rs:md ",
        '<rs:md hash="crc32:ab" type="application/zip" '),
    fault("CD02", CM, f" {JANUARY}", "", ' from="2024-01-01T00:00:00Z"'),
    fault("CD02", CM, 'datetime="2024-01-02', 'datetime="2024-01-04', 'datetime="2024-01-03'),
    fault("CD03", CM, 'change="created" ', "", 'change="updated" '),
    fault("CD03", CM, ' path="/1/a.txt"', "", ' path="/1/A.txt"'),
    fault("CD03", CM, ' path="/1/a.txt"', ' path="1/a.txt"', ' path="/2/a.txt"'),
    fault("CD03 SHOULD", CM, ' type="text/plain" path="/1/a.txt"', ' path="/1/a.txt"',
        ' type="text/html" path="/1/a.txt"'),
    fault("CD04", CM, 'path="/1/a.txt"', 'path="/1/b.txt"', 'path="/1/B.txt"'),
    fault("CD05", "changedump-index.xml", YEAR, "", ' from="2023-01-01T00:00:00Z"'),
    link_fault("LN01 SHOULD", LINK.replace("/>", ' length="6"/>'),
        LINK.replace("/>", ' length="5" hash="md5:0123456789abcdef0123456789abcdef"/>')),
    link_fault("LN02 SHOULD", '<rs:ln rel="alternate" href="https://example.org/a.html"/>',
        '<rs:ln rel="alternate" href="https://example.org/a.html" type="text/html"/>'),
    link_fault("LN03", f"<rs:ln {PATCH}/>", f'<rs:ln {PATCH} type="text/x-diff"/>', CH1),
    link_fault("LN03", f'<rs:ln {PATCH} type="text/x-diff"/>', f'<rs:ln {PATCH} type="text/x-diff" path="/p"/>', CM),
    link_fault("LN03", f'<rs:ln {PATCH} type="text/x-diff"/>',
        '<rs:ln rel="urn:x:patch" href="https://example.org/p"/>'),
    link_fault("LN04 SHOULD", f'<rs:ln rel="describedby" href="{BASE}a.txt"/>',
        f'<rs:ln rel="describedby" href="{BASE}a.txt.xml"/>'),
    link_fault("LN05", '<rs:ln rel="memento" href="urn:m" type="text/html"/>',
        '<rs:ln rel="memento" href="urn:m" type="text/plain; charset=utf-8"/>'),
    link_fault("LN05", '<rs:ln rel="memento" href="urn:m" length="1"/>',
        '<rs:ln rel="memento" href="urn:m" length="5"/>'),
    link_fault("LN05 SHOULD", '<rs:ln rel="timemap" href="urn:m"/>',
        '<rs:ln rel="timemap" href="urn:m" type="application/link-format"/>'),
    link_fault("LN07 SHOULD", '<rs:ln rel="via" href="urn:1"/><rs:ln rel="via" href="urn:2"/>',
        '<rs:ln rel="via" href="urn:1"/><rs:ln rel="collection" href="urn:2"/>'),
    fault("AR02 SHOULD", ARC, f"<rs:md {JANUARY}/>", "", f'<rs:md type="application/xml" {JANUARY}/>'),
    fault("AR02 SHOULD", "resources-archive-1.xml", '<rs:md at="2024-01-15T00:00:00Z"/>', "",
        '<rs:md at="2024-01-16T00:00:00Z"/>'),
    fault("AR03", ARC, "</urlset>", entry("x.xml", 'from="2023-01-01T00:00:00Z" until="2023-02-01T00:00:00Z"')
        + "</urlset>", entry("x.xml", 'from="2024-02-01T00:00:00Z" until="2024-02-02T00:00:00Z"') + "</urlset>"),
    fault("AR06 SHOULD", ARC, "</urlset>", entry("x.xml", 'from="2024-02-01T00:00:01Z" until="2024-02-02T00:00:00Z"')
        + "</urlset>", entry("x.xml",
        'from="2024-02-01T01:00:00+01:00" until="2024-02-02T00:00:00Z"').replace("2024-02-01T01:00:00+01:00",
        "2024-02-01T00:00:00.0Z") + "</urlset>"),
    fault("AR06 SHOULD", ARC, "</urlset>", entry("x.xml", 'from="2024-01-31T00:00:00Z" until="2024-02-02T00:00:00Z"')
        + "</urlset>", entry("x.xml", 'from="2024-02-01T00:00:00Z" until="2024-02-01T00:00:00Z"') + "</urlset>"),
    fault("V1105 SHOULD", RES, RESOURCES,
        RESOURCES.replace(f"{A_LOC}<lastmod>2024-02-02T00:00:00Z</lastmod>",
        f"<lastmod>2024-02-02T00:00:00Z</lastmod>{A_LOC}"),
        RESOURCES.replace("<rs:md", "<changefreq>never</changefreq><rs:md")),
    fault("V1105 SHOULD", RES, "</urlset>", f'<rs:ln rel="via" href="{BASE}"/>\n</urlset>',
        "<!-- x -->\n</urlset>"),
    fault("V1105 SHOULD", RM, 'path="/a.txt"', 'path="/a/"', 'path="/a"'),
    fault("CN01", "notification.xml", ' until="2024-03-01T00:00:00Z"', "", ' until="2024-03-02T00:00:00Z"'),
]  # fmt: skip


def changes(*rows: tuple[str, str, str, str]) -> str:
    """Make a closed Change List of rows: path, kind, lastmod and datetime, each of which may be nothing."""
    entries = [
        entry(path, f'change="{kind}"' + (f' datetime="{time}"' if time else ""), mod) for path, kind, mod, time in rows
    ]
    return document("changelist", "".join(entries), f" {JANUARY}")


EARLY, LATE, BEFORE = "2024-01-02T00:00:00Z", "2024-01-03T00:00:00Z", "2020-01-01T00:00:00Z"
FIRST, SECOND = ("a", "created"), ("b", "updated")
Single = tuple[str, int | None, CheckLimits]
WHOLE = text("resources-1.xml")
FEW = replace(STANDARD_LIMITS, most_entries=1)
UNORDERED = changes((*FIRST, LATE, ""), (*SECOND, EARLY, "")).replace('"changelist"', '"changedump-manifest"')
#: Documents that are broken by themselves, each by a rule, with the edition and the limits under which they are.
ALONE: dict[str, Single] = {
    "X04 MUST entries": (WHOLE, None, replace(STANDARD_LIMITS, entries=1)),
    "X04 MUST not read": (WHOLE, None, FEW),
    "X04 MUST index": (document("changelistindex", entry("changes-1.xml", tag="sitemap"), root="sitemapindex",
        links=UP), None, STANDARD_LIMITS),
    "X04 MUST invented": (text(CIX).replace('"changelist"', '"changelistindex"'), None, STANDARD_LIMITS),
    "CH03 SHOULD": (changes((*FIRST, LATE, ""), (*SECOND, EARLY, "")), 2017, STANDARD_LIMITS),
    # A manifest that tells times by lastmod alone is held to their order too.
    "CD02 MUST by lastmod": (UNORDERED.replace("<rs:md change", '<rs:md type="a/b" path="/0" change', 1)
        .replace("<rs:md change", '<rs:md type="a/b" path="/1" change', 1), None, STANDARD_LIMITS),
    # Two entries of one capability are found where all of the Capability List is in one line.
    "CL04 MUST in one line": (
        text("capabilitylist.xml").replace("resourcedump-archive", "resourcelist").replace("\n", " "), None,
        STANDARD_LIMITS),
    "CH06 MUST": (changes((*FIRST, BEFORE, "")), None, STANDARD_LIMITS),
    "V1101 MUST": (changes((*FIRST, EARLY, EARLY)), 2014, STANDARD_LIMITS),
    "V1104 MUST": (changes((*FIRST, "", "")), 2014, STANDARD_LIMITS),
    "V1104 SHOULD": (changes((*FIRST, "", "")), 2017, STANDARD_LIMITS),
    "CL08 MUST": (document("capabilitylist", "", root="sitemapindex",
        links=f'<rs:ln rel="describedby" href="{BASE}"/>\n'), None, STANDARD_LIMITS),
    "LN05 MUST": (WHOLE.replace(END,
        linked('<rs:ln rel="memento" href="urn:m"/>')).replace("<lastmod>2024-02-02T00:00:00Z</lastmod>", ""), 2014,
        STANDARD_LIMITS),
}  # fmt: skip
RESOURCES_PACKED, CHANGES_PACKED = {"a.txt": A, "sub/b.txt": B}, {"1/a.txt": OLD, "1/b.txt": B}
#: Packages that are broken by themselves, each by a rule, and the capability of what lists them.
PACKED: dict[str, tuple[bytes, str]] = {
    "RD03 MUST": (b"no ZIP file", "resourcedump"),
    "RD04 MUST": (package(CHANGE_MANIFEST, CHANGES_PACKED), "resourcedump"),
    "CD02 MUST": (package(RESOURCE_MANIFEST, RESOURCES_PACKED), "changedump"),
    "RD05 SHOULD": (package(RESOURCE_MANIFEST, {**RESOURCES_PACKED, "c.txt": b""}), "resourcedump"),
    "RD06 MUST twins": (package(RESOURCE_MANIFEST, {**RESOURCES_PACKED, "A.txt": A}).replace(b"A.txt", b"a.txt"), ""),
    "RD06 MUST": (package(RESOURCE_MANIFEST, {**RESOURCES_PACKED, "a.txt": B}), "resourcedump"),
}
