"""Crosswalks: tables that convert an item's metadata to a record, one module per format."""

from collections.abc import Iterable
from types import MappingProxyType

from repo_bridge.crosswalks.crosswalk import Crosswalk
from repo_bridge.crosswalks.mods import MODS
from repo_bridge.crosswalks.oai_dc import OAI_DC
from repo_bridge.crosswalks.qdc import QDC
from repo_bridge.errors import CrosswalkError

__all__ = ["CROSSWALKS", "Crosswalk", "find_crosswalks"]

#: All crosswalks by OAI-PMH metadata prefix.
CROSSWALKS = MappingProxyType({crosswalk.prefix: crosswalk for crosswalk in (OAI_DC, QDC, MODS)})


def find_crosswalks(prefixes: Iterable[str]) -> tuple[Crosswalk, ...]:
    """Return the crosswalks for metadata prefixes, each once; `CrosswalkError` for an unknown prefix."""
    asked = tuple(dict.fromkeys(prefixes))
    for prefix in asked:
        if prefix not in CROSSWALKS:
            message = f"there is no crosswalk for the metadata format {prefix!r}: there are {', '.join(CROSSWALKS)}"
            raise CrosswalkError(message)
    return tuple(CROSSWALKS[prefix] for prefix in asked)
