"""The independent client library `resync`: which of its classes reads which kind of document."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from resync import (
    CapabilityList,
    ChangeDump,
    ChangeDumpArchive,
    ChangeList,
    ChangeListArchive,
    ResourceDump,
    ResourceDumpArchive,
    ResourceDumpManifest,
    ResourceList,
    ResourceListArchive,
    SourceDescription,
)
from resync.change_dump_manifest import ChangeDumpManifest

#: By capability; an index is for its sitemap parser.
READERS: Mapping[str, Any] = MappingProxyType(
    {
        "description": SourceDescription,
        "capabilitylist": CapabilityList,
        "resourcelist": ResourceList,
        "resourcedump": ResourceDump,
        "resourcedump-manifest": ResourceDumpManifest,
        "changelist": ChangeList,
        "changedump": ChangeDump,
        "changedump-manifest": ChangeDumpManifest,
        "resourcelist-archive": ResourceListArchive,
        "resourcedump-archive": ResourceDumpArchive,
        "changelist-archive": ChangeListArchive,
        "changedump-archive": ChangeDumpArchive,
    }
)

#: For tests that use it: it calls what Python 3.12 advises against.
uses_client = pytest.mark.filterwarnings("ignore:datetime.datetime.utc:DeprecationWarning")
