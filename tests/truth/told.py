"""What the lists of an output tell, read by the standard's own words with the standard library alone."""

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"
CHANGE_LIST = "resourcesync/site/changelist.xml"
RESOURCE_LIST = "resourcesync/site/resourcelist.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One entry of a Change List; `digest` is the SHA-256 of the bytes, where it says so."""

    uri: str
    kind: str
    time: datetime
    digest: str | None = None


def read(output: Path, siteurl: str) -> Iterator[Told]:
    """Return the entries of the Change List, or of all that its index names, in their order."""
    for entry in _entries(output, siteurl, CHANGE_LIST):
        md = _md(entry)
        time = md.get("datetime") or entry.findtext(f"{SITEMAP}lastmod") or ""
        yield Told(
            uri=_uri(entry),
            kind=md.get("change", ""),
            time=datetime.fromisoformat(time),
            digest=_digest(md.get("hash")),
        )


def listed(output: Path, siteurl: str) -> dict[str, str | None]:
    """Return what the Resource List says exists: the SHA-256 by URI, none where it says none."""
    return {_uri(entry): _digest(_md(entry).get("hash")) for entry in _entries(output, siteurl, RESOURCE_LIST)}


def _entries(output: Path, siteurl: str, document: str) -> Iterator[ET.Element]:
    for entry in ET.parse(output / document).getroot():
        if entry.tag == f"{SITEMAP}sitemap":
            yield from _entries(output, siteurl, unquote(_uri(entry).removeprefix(f"{siteurl}/")))
        elif entry.tag == f"{SITEMAP}url":
            yield entry


def _uri(entry: ET.Element) -> str:
    return entry.findtext(f"{SITEMAP}loc") or ""


def _md(entry: ET.Element) -> Mapping[str, str]:
    md = entry.find(f"{RS}md")
    return {} if md is None else md.attrib


def _digest(hashes: str | None) -> str | None:
    found = [each.removeprefix("sha-256:") for each in (hashes or "").split() if each.startswith("sha-256:")]
    return found[0] if found else None


def path_of(uri: str, siteurl: str, *known: Collection[str]) -> str | None:
    """Return the output path that a URI means, as static hosts find it; none if it is in none of the `known` ones.

    The first collection that knows one decides.
    """
    if uri != siteurl and not uri.startswith(f"{siteurl}/"):
        return None
    path = unquote(uri.removeprefix(siteurl).removeprefix("/"), errors="surrogateescape")
    if not path or path.endswith("/"):
        candidates = [f"{path}index.html", f"{path.rstrip('/')}.html"]
    else:
        candidates = [path, f"{path}.html", f"{path}/index.html"]
    for paths in known:
        for candidate in candidates:
            if candidate in paths:
                return candidate
    return None
