"""What is published of an item: its records in metadata formats, its files, their URLs, and their sets."""

from repo_bridge.records.addresses import Addresses, Interface, record_path
from repo_bridge.records.formats import FORMATS, Format, find_formats
from repo_bridge.records.resources import (
    FileResource,
    LinkTo,
    Record,
    described_by,
    hidden_uris,
    latest,
    records_of,
    resources_of,
)
from repo_bridge.records.sets import Sets

__all__ = [
    "FORMATS",
    "Addresses",
    "FileResource",
    "Format",
    "Interface",
    "LinkTo",
    "Record",
    "Sets",
    "described_by",
    "find_formats",
    "hidden_uris",
    "latest",
    "record_path",
    "records_of",
    "resources_of",
]
