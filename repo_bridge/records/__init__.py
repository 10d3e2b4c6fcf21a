"""What is published of an item: its records in metadata formats, its files, their URLs, and their sets."""

from repo_bridge.records.addresses import Addresses, Interface
from repo_bridge.records.crosswalk import Crosswalk
from repo_bridge.records.formats import CROSSWALKS, find_crosswalks
from repo_bridge.records.resources import FileResource, HiddenUri, Link, Record, hidden_uris, latest, resources_of
from repo_bridge.records.sets import Sets

__all__ = [
    "CROSSWALKS",
    "Addresses",
    "Crosswalk",
    "FileResource",
    "HiddenUri",
    "Interface",
    "Link",
    "Record",
    "Sets",
    "find_crosswalks",
    "hidden_uris",
    "latest",
    "resources_of",
]
