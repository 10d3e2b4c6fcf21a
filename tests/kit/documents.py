"""A valid Source by hand: every kind of document once, which break no rule, to be broken by the tests."""

import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from pelican_resourcesync.checker import RULES
from pelican_resourcesync.checker.document import CheckedDocument, RuleOptions, check_document
from pelican_resourcesync.checker.rule import Findings
from pelican_resourcesync.checker.scan import STANDARD_LIMITS, CheckLimits
from tests.kit import sources
from tests.kit.live import live, static
from tests.kit.sources import digest as sha

BASE = "https://example.org/"
A, B = b"alpha", b"beta!"
OLD = b"old"


def document(capability: str, entries: str, md: str = "", links: str = "", root: str = "urlset") -> str:
    """Make a document with its link up, if it has one."""
    up = {"description": "", "capabilitylist": "description.xml"}.get(capability, "capabilitylist.xml")
    return sources.document(root, f'capability="{capability}"{md}', entries, up and BASE + up, links).decode()


def entry(path: str, md: str = "", lastmod: str = "", tag: str = "url", links: str = "") -> str:
    """Make an entry of a URL of the Source."""
    return sources.entry(BASE + path, md, lastmod, tag, links)


ABOUT = f'<rs:ln rel="describedby" href="{BASE}about.html"/>\n'
SNAPSHOT = ' at="2024-03-01T00:00:00Z" completed="2024-03-01T00:10:00Z"'
YEAR = ' from="2024-01-01T00:00:00Z"'
JANUARY = 'from="2024-01-01T00:00:00Z" until="2024-02-01T00:00:00Z"'
FEBRUARY = 'from="2024-02-01T00:00:00Z"'
INDEXED = f'<rs:ln rel="index" href="{BASE}changes.xml"/>\n'
A_SAID = f'hash="{sha(A)}" length="{len(A)}" type="text/plain"'
B_SAID = f'hash="{sha(B)}" length="{len(B)}" type="text/plain"'
OLD_SAID = f'hash="{sha(OLD)}" length="{len(OLD)}" type="text/plain"'


def change(path: str, kind: str, time: str, said: str = "") -> str:
    """Make a change with lastmod and datetime, as both editions ask."""
    return entry(path, f'change="{kind}" datetime="{time}"{" " if said else ""}{said}', time)


def package(manifest: str | bytes, members: Mapping[str, bytes]) -> bytes:
    """Make a ZIP package, the same every time."""
    stream = BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in {"manifest.xml": manifest, **members}.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 3, 1, 0, 0, 0)), data, zipfile.ZIP_DEFLATED)
    return stream.getvalue()


JANUARY_CHANGES = (
    change("a.txt", "created", "2024-01-02T00:00:00Z", OLD_SAID)
    + change("b.txt", "created", "2024-01-03T00:00:00Z", B_SAID)
    + change("gone.txt", "deleted", "2024-01-04T00:00:00Z")
)
FEBRUARY_CHANGES = change("a.txt", "updated", "2024-02-02T00:00:00Z", A_SAID) + change(
    "lost.txt", "deleted", "2024-02-03T00:00:00Z"
)
RESOURCES = entry("a.txt", A_SAID, "2024-02-02T00:00:00Z") + entry("b.txt", B_SAID, "2024-01-03T00:00:00Z")
RESOURCE_MANIFEST = document(
    "resourcedump-manifest",
    entry("a.txt", f'{A_SAID} path="/a.txt"') + entry("b.txt", f'{B_SAID} path="/sub/b.txt"'),
    SNAPSHOT,
)
OLD_SNAPSHOT = ' at="2024-01-15T00:00:00Z"'
OLD_RESOURCES = entry("a.txt", OLD_SAID, "2024-01-02T00:00:00Z") + entry("b.txt", B_SAID, "2024-01-03T00:00:00Z")
OLD_MANIFEST = document(
    "resourcedump-manifest",
    entry("a.txt", f'{OLD_SAID} path="/a.txt"') + entry("b.txt", f'{B_SAID} path="/b.txt"'),
    OLD_SNAPSHOT,
)
CHANGE_MANIFEST = document(
    "changedump-manifest",
    change("a.txt", "created", "2024-01-02T00:00:00Z", f'{OLD_SAID} path="/1/a.txt"')
    + change("b.txt", "created", "2024-01-03T00:00:00Z", f'{B_SAID} path="/1/b.txt"')
    + change("gone.txt", "deleted", "2024-01-04T00:00:00Z"),
    f" {JANUARY}",
)
#: The packages by name: the document that is their manifest's copy, and their members.
PACKAGES = {
    "dump.zip": ("dump-manifest.xml", {"a.txt": A, "sub/b.txt": B}),
    "dump-old.zip": ("dump-old-manifest.xml", {"a.txt": OLD, "b.txt": B}),
    "changes.zip": ("changes-manifest.xml", {"1/a.txt": OLD, "1/b.txt": B}),
}
RESOURCE_PACKAGE = package(RESOURCE_MANIFEST, PACKAGES["dump.zip"][1])
OLD_PACKAGE = package(OLD_MANIFEST, PACKAGES["dump-old.zip"][1])
CHANGE_PACKAGE = package(CHANGE_MANIFEST, PACKAGES["changes.zip"][1])


def _packed(path: str, data: bytes, times: str, manifest: str) -> str:
    link = f'<rs:ln rel="contents" href="{BASE}{manifest}" type="application/xml"/>'
    return entry(path, f'type="application/zip" length="{len(data)}" {times}', links=link)


CAPABILITIES = {
    "resourcelist": "resources.xml",
    "resourcedump": "dump.xml",
    "changelist": "changes.xml",
    "changedump": "changedump.xml",
    "resourcelist-archive": "resources-archive.xml",
    "resourcedump-archive": "dump-archive.xml",
    "changelist-archive": "changes-archive.xml",
    "changedump-archive": "changedump-archive.xml",
}
SOURCE: dict[str, str | bytes] = {
    ".well-known/resourcesync": "",
    "description.xml": document("description",
        entry("capabilitylist.xml", 'capability="capabilitylist"', links=ABOUT), links=ABOUT),
    "capabilitylist.xml": document("capabilitylist",
        "".join(entry(path, f'capability="{capability}"') for capability, path in CAPABILITIES.items()),
        links=ABOUT),
    "resources.xml": document("resourcelist", entry("resources-1.xml", 'at="2024-03-01T00:00:00Z"', tag="sitemap"),
        SNAPSHOT, root="sitemapindex"),
    "resources-1.xml": document("resourcelist", RESOURCES, ' at="2024-03-01T00:00:00Z"',
        f'<rs:ln rel="index" href="{BASE}resources.xml"/>\n'),
    "changes.xml": document("changelist", entry("changes-1.xml", JANUARY, tag="sitemap")
        + entry("changes-2.xml", FEBRUARY, tag="sitemap"), YEAR,
        f'<rs:ln rel="archives" href="{BASE}changes-archive.xml"/>\n', root="sitemapindex"),
    "changes-1.xml": document("changelist", JANUARY_CHANGES, f" {JANUARY}", INDEXED),
    "changes-2.xml": document("changelist", FEBRUARY_CHANGES, f" {FEBRUARY}", INDEXED),
    "changes-archive.xml": document("changelist-archive", entry("changes-1.xml", JANUARY)),
    "dump.xml": document("resourcedump", _packed("dump.zip", RESOURCE_PACKAGE, 'at="2024-03-01T00:00:00Z"',
        "dump-manifest.xml"), SNAPSHOT),
    "dump-manifest.xml": RESOURCE_MANIFEST,
    "dump.zip": RESOURCE_PACKAGE,
    "changedump.xml": document("changedump", _packed("changes.zip", CHANGE_PACKAGE, JANUARY, "changes-manifest.xml"),
        YEAR),
    "changes-manifest.xml": CHANGE_MANIFEST,
    "changes.zip": CHANGE_PACKAGE,
    "resources-archive.xml": document("resourcelist-archive", entry("resources-archive-1.xml", "", tag="sitemap"),
        root="sitemapindex"),
    "resources-archive-1.xml": document("resourcelist-archive",
        entry("resources-old.xml", 'at="2024-01-15T00:00:00Z"'),
        links=f'<rs:ln rel="index" href="{BASE}resources-archive.xml"/>\n'),
    "resources-old.xml": document("resourcelist", OLD_RESOURCES, OLD_SNAPSHOT),
    "dump-archive.xml": document("resourcedump-archive", entry("dump-old.xml", 'at="2024-01-15T00:00:00Z"')),
    "dump-old.xml": document("resourcedump",
        _packed("dump-old.zip", OLD_PACKAGE, OLD_SNAPSHOT.strip(), "dump-old-manifest.xml"), OLD_SNAPSHOT),
    "dump-old-manifest.xml": OLD_MANIFEST,
    "dump-old.zip": OLD_PACKAGE,
    "changedump-archive.xml": document("changedump-archive", entry("changedump-1.xml", JANUARY)),
    "changedump-1.xml": document("changedump", _packed("changes.zip", CHANGE_PACKAGE, JANUARY, "changes-manifest.xml"),
        f" {JANUARY}"),
    "a.txt": A,
    "b.txt": B,
    "robots.txt": f"Sitemap: {BASE}resources.xml\n",
}  # fmt: skip
SOURCE[".well-known/resourcesync"] = SOURCE["description.xml"]

#: Documents that the Source above has no need of.
OTHERS: dict[str, str] = {
    "notification.xml": document("change-notification", change("a.txt", "updated", "2024-02-02T00:00:00Z"),
        f'{YEAR} until="2024-03-01T00:00:00Z"'),
    "dump-index.xml": document("resourcedump", entry("dump.xml", 'at="2024-03-01T00:00:00Z"', tag="sitemap"), SNAPSHOT,
        root="sitemapindex"),
    "changedump-index.xml": document("changedump", entry("changedump.xml", JANUARY, tag="sitemap"), YEAR,
        root="sitemapindex"),
    "description-index.xml": document("description",
        entry("description.xml", 'capability="description"', tag="sitemap"), root="sitemapindex"),
}  # fmt: skip


def text(name: str) -> str:
    """Return a document of the Source, or beside it."""
    found = OTHERS.get(name) or SOURCE[name]
    assert isinstance(found, str)
    return found


Files = dict[str, str | bytes]


def moved(files: Files, base: str) -> Files:
    """Return the files of a Source at another address, with its packages made anew."""
    result = {name: data.replace(BASE, base) if isinstance(data, str) else data for name, data in files.items()}
    for name, (manifest, members) in PACKAGES.items():
        old, text_ = files.get(name), result.get(manifest)
        if isinstance(text_, str) and isinstance(old, bytes):
            new = result[name] = package(text_, members)
            for other, data in result.items():
                if isinstance(data, str):
                    result[other] = data.replace(f'length="{len(old)}"', f'length="{len(new)}"')
    return result


def lay(folder: Path, changed: dict[str, str | bytes | None] | None = None, base: str = BASE) -> Path:
    """Write the Source into a folder, with some files changed or, where None, left out; `base` is its address."""
    files = {name: data for name, data in {**SOURCE, **(changed or {})}.items() if data is not None}
    for name, data in (files if base == BASE else moved(files, base)).items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return folder


def lay_small(folder: Path, capabilities: Mapping[str, str], files: Mapping[str, str]) -> Path:
    """Write a Source of these files alone, which offers these capabilities at these paths."""
    folder.mkdir(exist_ok=True)
    listed = "".join(entry(path, f'capability="{name}"') for name, path in capabilities.items())
    described = {"capabilitylist.xml": document("capabilitylist", listed, links=ABOUT)}
    described |= dict.fromkeys(("description.xml", ".well-known/resourcesync"), text("description.xml"))
    (folder / ".well-known").mkdir()
    for name, data in (described | {**files}).items():
        (folder / name).write_text(data, "utf-8")
    return folder


@contextmanager
def hosted(
    folder: Path, headers: dict[str, dict[str, str]] | None = None, changed: Files | None = None
) -> Iterator[str]:
    """Serve the Source under an address of its own, which all documents name; give that address."""
    with live(static(folder, headers)) as site:
        lay(folder, {**(changed or {})}, f"{site.url}/")
        yield site.url


def checked(
    data: str | bytes,
    *,
    edition: int | None = None,
    limits: CheckLimits = STANDARD_LIMITS,
) -> tuple[Findings, CheckedDocument]:
    """Check a document by itself."""
    findings = Findings(most=100)
    stream = BytesIO(data if isinstance(data, bytes) else data.encode())
    kept = check_document(stream, "list.xml", RuleOptions(rules=RULES, edition=edition, limits=limits), findings)
    return findings, kept


def names(findings: Findings) -> list[str]:
    """Return what was found as identifiers with the level, such as `X10 MUST`."""
    return [f"{rule} {level}" for rule, level, _ in findings.groups()]
