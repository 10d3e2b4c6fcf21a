"""What the Change Lists of an output tell, read by the standard's own words with the standard library alone."""

import xml.etree.ElementTree as ET
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
RS = "{http://www.openarchives.org/rs/terms/}"
CHANGE_LIST = "resourcesync/site/changelist.xml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """One entry of a Change List."""

    uri: str
    kind: str
    time: datetime


def read(output: Path, siteurl: str, document: str = CHANGE_LIST) -> Iterator[Told]:
    """Give the entries of a Change List, or of all that an index names, in their order."""
    root = ET.parse(output / document).getroot()
    for entry in root:
        uri = entry.findtext(f"{SITEMAP}loc") or ""
        if entry.tag == f"{SITEMAP}sitemap":
            yield from read(output, siteurl, unquote(uri.removeprefix(f"{siteurl}/")))
        elif entry.tag == f"{SITEMAP}url":
            md = entry.find(f"{RS}md")
            attributes = {} if md is None else md.attrib
            time = attributes.get("datetime") or entry.findtext(f"{SITEMAP}lastmod") or ""
            yield Told(uri=uri, kind=attributes.get("change", ""), time=datetime.fromisoformat(time))


def path_of(uri: str, siteurl: str, *known: Collection[str]) -> str | None:
    """Give the output path that a URI means, as static hosts find it; none if it is in none of the `known` ones.

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
