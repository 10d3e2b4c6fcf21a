"""Seeded faults over several documents: files of the Source changed so that one rule is broken, or nearly so."""

from tests.kit.documents import (
    A_SAID,
    ABOUT,
    B_SAID,
    BASE,
    CAPABILITIES,
    FEBRUARY,
    FEBRUARY_CHANGES,
    JANUARY,
    JANUARY_CHANGES,
    OLD,
    OLD_SAID,
    OTHERS,
    PACKAGES,
    RESOURCE_MANIFEST,
    RESOURCES,
    SNAPSHOT,
    SOURCE,
    YEAR,
    A,
    B,
    change,
    document,
    entry,
    package,
    text,
)
from tests.kit.sources import digest as sha

Changed = dict[str, str | bytes | None]


def swap(name: str, old: str, new: str) -> Changed:
    """Change a text in a document of the Source."""
    whole = text(name)
    assert old in whole
    changed: Changed = {name: whole.replace(old, new)}
    if name == "description.xml":
        changed[".well-known/resourcesync"] = changed[name]
    return changed


ELSE = f"{BASE}else.xml"
SECOND = entry("second.xml", 'capability="capabilitylist"', links=ABOUT)
EMPTY_SET = document("capabilitylist", "", links=ABOUT)


def only(*capabilities: str) -> Changed:
    """Let the Source have these capabilities alone."""
    entries = "".join(entry(CAPABILITIES[name], f'capability="{name}"') for name in capabilities)
    return {"capabilitylist.xml": document("capabilitylist", entries, links=ABOUT)}


def dated(name: str, path: str, time: str) -> Changed:
    """Add a lastmod to an entry."""
    return swap(name, f"{path}</loc>", f"{path}</loc><lastmod>{time}</lastmod>")


NESTED = document(
    "resourcelist",
    entry("resources-2.xml", 'at="2024-03-01T00:00:00Z"', tag="sitemap"),
    ' at="2024-03-01T00:00:00Z"',
    f'<rs:ln rel="index" href="{BASE}resources.xml"/>\n',
    root="sitemapindex",
)
ARCHIVE_OF_NOW = text("resources-archive-1.xml").replace("-old.xml", "-1.xml").replace("2024-01-15", "2024-03-01")
LATER = "2024-03-01T00:10:01Z"
FAULTS: dict[str, tuple[Changed, Changed]] = {
    "SD01": (
        {".well-known/resourcesync": None, "description.xml": None}
        | swap("capabilitylist.xml", BASE + "description.xml", "https://elsewhere.example/description.xml"),
        {"description.xml": None}
        | swap("capabilitylist.xml", BASE + "description.xml", "https://elsewhere.example/description.xml"),
    ),
    "DI01 SHOULD": ({".well-known/resourcesync": None}, {".well-known/resourcesync": text("description.xml") + "\n"}),
    "SD02": (swap("capabilitylist.xml", f"{BASE}description.xml", f"{BASE}resources.xml"), {}),
    "SD03": (swap("description.xml", "capabilitylist.xml</loc>", "none.xml</loc>"), {}),
    "CL01": (swap("description.xml", "</urlset>", f"{SECOND}</urlset>") | {"second.xml": text("description.xml")},
        swap("description.xml", "</urlset>", f"{SECOND}</urlset>") | {"second.xml": EMPTY_SET}),
    "CL02": (
        swap("capabilitylist.xml", f"{BASE}description.xml", ELSE)
        | {
            "else.xml": text("description.xml").replace("capabilitylist.xml", "else-list.xml"),
            "else-list.xml": text("capabilitylist.xml").replace(f"{BASE}description.xml", ELSE) + "\n",
        },
        swap("capabilitylist.xml", f"{BASE}description.xml", f"{BASE}.well-known/resourcesync"),
    ),
    "CL04": (swap("capabilitylist.xml", "dump.xml</loc>", "none.xml</loc>"), {}),
    "RL04": (swap("resources.xml", '<rs:md at="2024-03-01', '<rs:md at="2024-02-29'),
        swap("resources.xml", '<rs:md at="2024-03-01T00:00:00Z', '<rs:md at="2024-03-01T00:00:00.0Z')),
    "CH07": (swap("changes.xml", ' until="2024-02-01T00:00:00Z"', ""),
        swap("changes.xml", '2024-02-01T00:00:00Z"', '2024-02-01T00:00:00.0Z"')),
    "X04": (
        {
            "resources-1.xml": NESTED,
            "resources-2.xml": text("resources-1.xml").replace(f"{BASE}resources.xml", f"{BASE}resources-1.xml"),
        },
        swap("resources-1.xml", 'capability="resourcelist"', 'capability="resourcelist "'),
    ),
    "X13": (
        swap("changes-2.xml", f"{BASE}capabilitylist.xml", f"{BASE}second.xml")
        | swap("description.xml", "</urlset>", f"{SECOND}</urlset>")
        | {"second.xml": EMPTY_SET},
        swap("changes-2.xml", f"{BASE}capabilitylist.xml", ELSE) | {"else.xml": text("capabilitylist.xml")},
    ),
    "X13 index": (swap("changes-2.xml", "changes.xml", "resources.xml"),
        swap("changes-2.xml", 'rel="index"', 'type="application/xml" rel="index"')),
    "X13 SHOULD": (swap("changes-2.xml", 'rel="index"', 'rel="via"'), {}),
    "AR01": (
        swap("resources-archive-1.xml", "resources-old.xml", "dump-old.xml"),
        swap("resources-archive-1.xml", "resources-old.xml", "resources-1.xml")
        | {"resources-archive-1.xml": ARCHIVE_OF_NOW},
    ),
    "AR02": (swap("changes-archive.xml", "2024-01-01", "2024-01-02"), {}),
    "AR04": (swap("resources-archive.xml", "resources-archive-1.xml", "none.xml"), {}),
    "AR04 SHOULD": (
        dated("resources-archive.xml", "archive-1.xml", "2023-01-01T00:00:00Z")
        | dated("resources-archive-1.xml", "old.xml", "2024-01-01T00:00:00Z"),
        dated("resources-archive.xml", "archive-1.xml", "2024-01-01T00:00:00Z")
        | dated("resources-archive-1.xml", "old.xml", "2024-01-01T00:00:00Z"),
    ),
    "AR05": (swap("changes.xml", "changes-archive.xml", "resources-archive.xml"), {}),
    "RD02": (swap("dump.xml", "dump-manifest.xml", "none.xml"), {}),
    "SD05 SHOULD": (
        dated("description.xml", "list.xml", "2024-01-01T00:00:00Z")
        | dated("capabilitylist.xml", "resources.xml", LATER),
        dated("description.xml", "list.xml", LATER) | dated("capabilitylist.xml", "resources.xml", LATER),
    ),
    "CL07 SHOULD": (dated("capabilitylist.xml", "resources.xml", "2024-01-01T00:00:00Z"),
        dated("capabilitylist.xml", "resources.xml", "2024-03-01T00:10:00Z")),
    "RL03": (swap("resources-1.xml", "</urlset>", entry("a.txt", A_SAID) + "</urlset>"),
        swap("resources-1.xml", "</urlset>", entry("a.txt?", A_SAID) + "</urlset>") | only("resourcelist")),
    "RL03 in an archive": (swap("resources-old.xml", "</urlset>", entry("a.txt", OLD_SAID) + "</urlset>"), {}),
    "CL06": (swap("changes-2.xml", "</urlset>", change("b.txt", "deleted", "2024-02-04T00:00:00Z") + "</urlset>"),
        swap("changes-2.xml", "</urlset>", change("b.txt", "deleted", "2024-03-04T00:00:00Z") + "</urlset>")),
    "CL06 created": (
        swap("changes-2.xml", "</urlset>", change("c.txt", "created", "2024-02-04T00:00:00Z") + "</urlset>"),
        swap(
            "changes-2.xml",
            "</urlset>",
            change("c.txt", "created", "2024-02-04T00:00:00Z")
            + change("c.txt", "deleted", "2024-02-05T00:00:00Z")
            + "</urlset>",
        ),
    ),
    "CH04": (swap("changes-2.xml", sha(A), sha(OLD)),
        swap("changes-2.xml", sha(A), "md5:0123456789abcdef0123456789abcdef")),
    "DI01 SHOULD of another document": ({".well-known/resourcesync": text("capabilitylist.xml")}, {}),
    "CL04 of a capability": (
        swap(
            "capabilitylist.xml",
            f'{BASE}dump.xml</loc><rs:md capability="resourcedump"',
            f'{BASE}dump-archive.xml</loc><rs:md capability="resourcedump"',
        ),
        {},
    ),
    **{
        f"{rule} {link} of {name} is {wrong}": (swap(name, f'href="{BASE}{link}"', f'href="{BASE}{wrong}"'), {})
        for rule, name, link, wrong in (
            ("X13", "changes-2.xml", "capabilitylist.xml", "none.xml"),
            ("X13", "changes-2.xml", "capabilitylist.xml", "changes.xml"),
            ("X13", "changes-2.xml", "changes.xml", "none.xml"),
            ("CL02", "capabilitylist.xml", "description.xml", "none.xml"),
            ("AR05", "changes.xml", "changes-archive.xml", "none.xml"),
        )
    },
    "DI04 SHOULD": (
        swap("description.xml", "</urlset>", f"{SECOND}</urlset>")
        | {
            "second.xml": document(
                "capabilitylist", entry("third.xml", 'capability="resourcelist"'), links=ABOUT
            ),
            "third.xml": text("resources-old.xml").replace("capabilitylist.xml", "second.xml"),
        },
        {"robots.txt": "User-agent: *\nSitemap: https://example.org/sitemap.xml\n"},
    ),
}  # fmt: skip


def links_of_a(*links: str, where: str = "resources-1.xml") -> Changed:
    """Add links to the entry of `a.txt`."""
    lines = "".join(f"<rs:ln {link}/>" for link in links)
    return swap(where, "</url>\n<url>", f"{lines}</url>\n<url>")


DUPLICATE = f'rel="duplicate" href="{BASE}m/a.txt"'
MEMENTO = f'rel="memento" href="{BASE}v/a.txt" hash="{sha(A)}"'
VIA = f'rel="via" href="{BASE}o/a.txt" hash="{sha(A)}" length="5"'
PATCH = f'rel="http://www.openarchives.org/rs/terms/patch" href="{BASE}p" type="text/x-diff"'
ALTERNATE = f'rel="alternate" href="{BASE}a.md" type="text/markdown"'

DEEP: dict[str, tuple[Changed, str]] = {
    "mirror of other bytes": ({**links_of_a(DUPLICATE), "m/a.txt": b"alphA"}, "LN01 SHOULD"),
    "mirror of another length": ({**links_of_a(DUPLICATE), "m/a.txt": b"alphabet"}, "LN01 SHOULD"),
    "no mirror": (links_of_a(DUPLICATE), "LN01 SHOULD"),
    "version of other bytes": ({**links_of_a(MEMENTO), "v/a.txt": b"alphA"}, "LN05 SHOULD"),
    "no version": (links_of_a(MEMENTO), "LN05 SHOULD"),
    "no TimeMap": (links_of_a(f'rel="timemap" href="{BASE}a.link" type="application/link-format"'), "LN05 SHOULD"),
    "original of other bytes": ({**links_of_a(VIA), "o/a.txt": b"alphA"}, "LN07 SHOULD"),
    "original of another length": ({**links_of_a(VIA), "o/a.txt": b"alphabet"}, "LN07 SHOULD"),
    "no original": (links_of_a(VIA), "LN07 SHOULD"),
    "no alternate": (links_of_a(ALTERNATE), "LN02 SHOULD"),
    "no canonical": (links_of_a(f'rel="canonical" href="{BASE}a"'), "LN02 SHOULD"),
    "alternate of other bytes": ({**links_of_a(f'{ALTERNATE} hash="{sha(A)}"'), "a.md": b"alphA"}, "LN02 SHOULD"),
    "no patch": (links_of_a(PATCH, where="changes-2.xml"), "LN03 SHOULD"),
    "patch of other bytes": (
        {**links_of_a(f'{PATCH} length="4"', where="changes-2.xml"), "p": b"patch"},
        "LN03 SHOULD",
    ),
    "hash": ({"a.txt": b"alphA"}, "X08 MUST"),
    "length": ({"a.txt": b"alphabet"}, "X09 MUST"),
    "absent": ({"a.txt": None}, "X09 MUST"),
    "copy": ({"dump-manifest.xml": RESOURCE_MANIFEST + "\n"}, "RD02 MUST"),
    "no zip": ({"changes.zip": b"x" * len(SOURCE["changes.zip"])}, "RD03 MUST"),
    "length of package": ({"dump.zip": bytes(SOURCE["dump.zip"]) + b"\0"}, "RD01 MUST"),  # type: ignore[arg-type]
    "length of package of changes": ({"changes.zip": bytes(SOURCE["changes.zip"]) + b"\0"}, "CD01 MUST"),  # type: ignore[arg-type]
    "no package": ({"changes.zip": None}, "CD01 MUST"),
}


def added(name: str, more: str) -> Changed:
    """Add an entry at the end of a list."""
    return swap(name, "</urlset>", f"{more}</urlset>")


def renewed(name: str, manifest: str) -> Changed:
    """Change a manifest, both the copy and that in its package, and the length of the package."""
    copy, members = PACKAGES[name]
    old, new = SOURCE[name], package(manifest, members)
    changed: Changed = {copy: manifest, name: new}
    for dump, data in SOURCE.items():
        if isinstance(data, str) and f"/{name}<" in data:
            changed[dump] = data.replace(f'length="{len(old)}"', f'length="{len(new)}"')
    return changed


def c_said(data: bytes) -> str:
    """Say the hash of a third resource."""
    return f'hash="{sha(data)}"'


MD5 = "md5:0123456789abcdef0123456789abcdef"
LISTS = ("resourcelist", "changelist", "resourcelist-archive", "changelist-archive")
OLDER = swap("resources-old.xml", "</urlset>", f"{entry('c.txt', c_said(OLD))}</urlset>")
NEWER = added("resources-1.xml", entry("c.txt", c_said(A)))
C_CREATED = change("c.txt", "created", "2024-02-05T00:00:00Z", c_said(A))
C_UPDATED = C_CREATED.replace("created", "updated")
C_DELETED = change("c.txt", "deleted", "2024-02-05T00:00:00Z")
#: The Change List Index holds what is of February alone; January is in the archive.
LATELY: Changed = {
    "changes.xml": document("changelist", entry("changes-2.xml", FEBRUARY, tag="sitemap"),
        ' from="2024-02-01T00:00:00Z"', f'<rs:ln rel="archives" href="{BASE}changes-archive.xml"/>\n',
        root="sitemapindex"),
    "changes-1.xml": document("changelist", JANUARY_CHANGES, f" {JANUARY}"),
}  # fmt: skip
COPY_OF_NOW = {
    "resources-archive-1.xml": text("resources-archive-1.xml").replace(
        "</urlset>", entry("resources-copy.xml", 'at="2024-03-01T00:00:00Z"') + "</urlset>"
    )
}
LATER_MANIFEST = text("dump-manifest.xml").replace("2024-03-01", "2024-03-05")
B_LATE = change("b.txt", "updated", "2024-03-02T00:00:00Z", c_said(OLD))


def later(manifest: str, more: str) -> Changed:
    """Let the Resource Dump be four days later than the Resource List, with a change between them."""
    changed = renewed("dump.zip", manifest) | added("changes-2.xml", more)
    changed["dump.xml"] = (
        str(changed["dump.xml"]).replace("2024-03-01T00:0", "2024-03-05T00:0").replace("-01T00:10", "-05T00:10")
    )
    return changed


def parted(first: str, second: str) -> Changed:
    """Let the Change List Archive have two parts of an entry each, with these intervals."""
    index = f'<rs:ln rel="index" href="{BASE}changes-archive.xml"/>\n'
    closed = FEBRUARY + ' until="2024-03-01T00:00:00Z"'
    parts = "".join(entry(f"changes-archive-{number}.xml", tag="sitemap") for number in (1, 2))
    changed: Changed = only(*LISTS) | {
        "changes-archive.xml": document("changelist-archive", parts, root="sitemapindex"),
        "changes-archive-1.xml": document("changelist-archive", first, links=index),
        "changes-archive-2.xml": document("changelist-archive", second, links=index),
        "changes-2.xml": text("changes-2.xml").replace(FEBRUARY, closed),
        "changes.xml": text("changes.xml").replace(FEBRUARY, closed),
        "resources.xml": text("resources.xml").replace("2024-03-01T00:10", "2024-03-01T00:00"),
    }
    return changed


CLOSED = {
    name: entry(f"changes-{number}.xml", interval)
    for number, name, interval in ((1, "january", JANUARY), (2, "february", f'{FEBRUARY} until="2024-03-01T00:00:00Z"'))
}
#: The Change List of February begins a day late.
LATE: Changed = {
    "changes.xml": str(LATELY["changes.xml"]).replace("2024-02-01", "2024-02-02"),
    "changes-1.xml": LATELY["changes-1.xml"],
    "changes-2.xml": text("changes-2.xml").replace("2024-02-01", "2024-02-02"),
}


def archived_lately(begin: str) -> Changed:
    """Let the Change Lists be archived alone, in two parts, of which the second begins at a time of February."""
    closed = FEBRUARY.replace("2024-02-01T00:00:00Z", begin) + ' until="2024-03-01T00:00:00Z"'
    changed = parted(CLOSED["january"], entry("changes-2.xml", closed)) | only("resourcelist", "changelist-archive")
    changed["changes-1.xml"] = document("changelist", JANUARY_CHANGES, f" {JANUARY}")
    changed["changes-2.xml"] = document("changelist", FEBRUARY_CHANGES, f" {closed}")
    return changed


def page(link: str) -> Changed:
    """Let the second resource be a page with a link."""
    head = f"<html><head><link rel='stylesheet resourcesync' href='{link}'>"
    changed = swap("resources-1.xml", B_SAID, 'type="text/html"') | {"b.txt": head}
    return changed | swap("resources-old.xml", B_SAID, 'type="text/html"')


#: A second set, of the second resource alone.
SETS: Changed = swap("description.xml", "</urlset>", f"{SECOND}</urlset>") | {
    "second.xml": document("capabilitylist", entry("third.xml", 'capability="resourcelist"'), links=ABOUT),
    "third.xml": document("resourcelist", entry("b.txt"), SNAPSHOT).replace("capabilitylist.xml", "second.xml"),
    "robots.txt": None,
}
THIRD = str(SETS["third.xml"]).replace("b.txt", "a.txt")
FAULTS |= {
    "CH06 what came": (only(*LISTS) | NEWER, only(*LISTS) | NEWER | added("changes-2.xml", C_CREATED)),
    "CH06 what went": (only(*LISTS) | OLDER, only(*LISTS) | OLDER | added("changes-2.xml", C_DELETED)),
    # Where the changes of January are not to be had, nobody can say.
    "CH06 by archived changes": (
        only(*LISTS) | LATELY | NEWER,
        only("resourcelist", "changelist", "resourcelist-archive") | LATELY | NEWER,
    ),
    "CH06 of one time": (
        only(*LISTS)
        | COPY_OF_NOW
        | {"resources-copy.xml": document("resourcelist", entry("a.txt", A_SAID), ' at="2024-03-01T00:00:00Z"')},
        only(*LISTS)
        | COPY_OF_NOW
        | {"resources-copy.xml": document("resourcelist", RESOURCES, ' at="2024-03-01T00:00:00Z"')},
    ),
    "CH04 without a change": (
        only(*LISTS) | OLDER | NEWER,
        only(*LISTS) | OLDER | NEWER | added("changes-2.xml", C_UPDATED),
    ),
    "CL06 in an archive": (
        only(*LISTS)
        | {"resources-old.xml": document("resourcelist", entry("a.txt", OLD_SAID), ' at="2024-01-15T00:00:00Z"')},
        only(*LISTS)
        | {"resources-old.xml": document("resourcelist", entry("a.txt", OLD_SAID), ' at="2024-01-02T12:00:00Z"')}
        | swap("resources-archive-1.xml", "2024-01-15T00", "2024-01-02T12"),
    ),
    "CL06 deleted long before": (
        only(*LISTS) | added("resources-old.xml", entry("gone.txt")),
        only(*LISTS)
        | {
            "resources-old.xml": text("resources-old.xml")
            .replace("2024-01-15", "2024-01-03")
            .replace("</urlset>", f"{entry('gone.txt')}</urlset>")
        }
        | swap("resources-archive-1.xml", "2024-01-15", "2024-01-03"),
    ),
    "CL06 of a dump": (
        renewed("dump.zip", text("dump-manifest.xml").replace(f"{BASE}b.txt", f"{BASE}c.txt")),
        renewed("dump.zip", text("dump-manifest.xml").replace(f"{BASE}b.txt", f"{BASE}c.txt")) | only("resourcedump"),
    ),
    "CL06 of a later dump": (
        later(LATER_MANIFEST, change("b.txt", "deleted", "2024-03-02T00:00:00Z")),
        later(LATER_MANIFEST, change("b.txt", "deleted", "2024-03-06T00:00:00Z")),
    ),
    "CL06 of a dump's changes": (
        renewed("changes.zip", text("changes-manifest.xml").replace("gone.txt", "else.txt")),
        renewed("changes.zip", text("changes-manifest.xml").replace("gone.txt", "else.txt")) | only("changedump"),
    ),
    "CL06 of a change that is not packed": (
        added("changes-1.xml", change("x.txt", "deleted", "2024-01-05T00:00:00Z")),
        # After the last package of an open Change Dump.
        swap("changes-2.xml", "2024-02-03T00:00:00Z", "2024-02-03T00:00:01Z"),
    ),
    "RD05": (
        renewed("dump.zip", text("dump-manifest.xml").replace(sha(B), f"{MD5} " + sha(OLD))),
        renewed("dump.zip", text("dump-manifest.xml").replace(sha(B), f"{MD5} " + sha(B))),
    ),
    "RD05 in an archive": (
        renewed("dump-old.zip", text("dump-old-manifest.xml").replace(sha(OLD), sha(A))),
        renewed("dump-old.zip", text("dump-old-manifest.xml").replace('/a.txt"', '/A.txt"')),
    ),
    "RD05 of a later dump": (later(LATER_MANIFEST, B_LATE), later(LATER_MANIFEST.replace(sha(B), sha(OLD)), B_LATE)),
    "CD04": (
        renewed("changes.zip", text("changes-manifest.xml").replace(sha(OLD), sha(A))),
        renewed("changes.zip", text("changes-manifest.xml").replace(f'hash="{sha(OLD)}" ', "")),
    ),
    "AR03": (parted(CLOSED["february"], CLOSED["january"]), parted(CLOSED["january"], CLOSED["february"])),
    "AR06 SHOULD": (archived_lately("2024-02-01T12:00:00Z"), archived_lately("2024-02-01T00:00:00Z")),
    "AR06 SHOULD overlap": (archived_lately("2024-01-31T12:00:00Z"), {}),
    "AR06 SHOULD current": (
        only("resourcelist", "changelist", "changelist-archive") | LATE,
        only("resourcelist", "changelist", "changelist-archive") | LATELY,
    ),
    "DI02": (page("/changes.xml"), page("sub/../capabilitylist.xml")),
    "DI02 of another set": (page("second.xml") | SETS | {"third.xml": THIRD}, page("second.xml") | SETS),
}


def indexed(name: str, path: str, said: str) -> Changed:
    """Let a dump be in an index, which says this of it."""
    index = f"{name}-index.xml"
    capability = {"dump": "resourcedump", "changedump": "changedump"}[name]
    link = f'<rs:ln rel="index" href="{BASE}{index}"/>\n<rs:md cap'
    times = SNAPSHOT if name == "dump" else YEAR
    return {
        "capabilitylist.xml": text("capabilitylist.xml").replace(f"/{path}<", f"/{index}<"),
        index: document(capability, entry(path, said, tag="sitemap"), times, root="sitemapindex"),
        path: text(path).replace("<rs:md cap", link, 1),
    }


def incomplete(capability: str) -> tuple[Changed, Changed]:
    """Let an archive be in parts, of which one is not there."""
    name = CAPABILITIES[capability]
    index = document(capability, entry("part.xml", tag="sitemap"), root="sitemapindex")
    link = f'<rs:ln rel="index" href="{BASE}{name}"/>\n'
    part = text(name).replace("<rs:md cap", f"{link}  <rs:md cap")
    return {name: index}, {name: index, "part.xml": part}


INDEX = OTHERS["description-index.xml"]
FAULTS |= {
    "SD06": ({".well-known/resourcesync": INDEX.replace("description.xml", "capabilitylist.xml")},
        {".well-known/resourcesync": INDEX}),
    "SD06 nothing there": ({".well-known/resourcesync": INDEX.replace("description.xml", "none.xml")}, {}),
    "RD07": (indexed("dump", "dump.xml", 'at="2024-03-02T00:00:00Z"'),
        indexed("dump", "dump.xml", 'at="2024-03-01T00:00:00.0Z"')),
    "CD05": (indexed("changedump", "changedump.xml", JANUARY), indexed("changedump", "changedump.xml", YEAR.strip())),
    "AR04 resource dumps": incomplete("resourcedump-archive"),
    "AR04 change lists": incomplete("changelist-archive"),
    "AR04 change dumps": incomplete("changedump-archive"),
}  # fmt: skip

#: What a host says of a resource, and the rule that it breaks.
HOSTED: dict[str, tuple[dict[str, dict[str, str]], str]] = {
    "link in a header": ({"a.txt": {"Link": '</other.xml>; rel="resourcesync"'}}, "DI03 MUST"),
    "media type": ({"b.txt": {"Content-Type": "application/octet-stream"}}, "X09 SHOULD"),
}
