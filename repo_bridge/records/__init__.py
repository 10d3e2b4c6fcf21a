"""What is published of an item: its records in metadata formats, its files, their URLs, and their sets."""

from repo_bridge.records.formats import FORMATS, Format, find_formats
from repo_bridge.records.resources import HTML, Addresses, EntryBuilder, Interface, Sets, latest

__all__ = [
    "FORMATS",
    "HTML",
    "Addresses",
    "EntryBuilder",
    "Format",
    "Interface",
    "Sets",
    "find_formats",
    "latest",
]
