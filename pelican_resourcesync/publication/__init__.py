"""A set of resources, published repeatedly over time: changes, commit ranges, documents and discovery.

In short: `publication = publish_sets(previous publications, current resources, their history)`. This package depends on
neither Pelican nor git, so a bridge from a database can use it too.

Other packages import from here. The parts are loaded when a name of theirs is first used, because a build that
publishes nothing needs few of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pelican_resourcesync.publication.diff import changes_since
    from pelican_resourcesync.publication.disk import (
        TEMPORARY_PREFIX,
        locked,
        recover,
        remove_tree,
        replace_file,
        same_bytes,
        sync,
        temporary_sibling,
    )
    from pelican_resourcesync.publication.documents import (
        HEADER_FILES,
        add_link_headers,
        add_robots_line,
        keep_dot_folders,
        well_known_reachable,
    )
    from pelican_resourcesync.publication.forget import TakedownResult, forget_uris
    from pelican_resourcesync.publication.model import (
        DESCRIPTION,
        FOLDER,
        MD5,
        PERIODS,
        RECORDS,
        SHA_256,
        STATE,
        TICK,
        UNKNOWN_TYPE,
        WELL_KNOWN,
        Archives,
        Calendar,
        Change,
        ChangeHistory,
        Dumps,
        FileResources,
        FixedBoundaries,
        Layout,
        Listed,
        Listing,
        Options,
        PageOptions,
        RangeBoundaries,
        Representation,
        Resource,
        Resources,
        Row,
        State,
        are_few,
        build_time,
        is_later,
        is_loopback,
        later,
        media_type,
        parse_representation,
        parse_state,
        parse_time,
        render_state,
        render_time,
        require_same_site,
        whole_milliseconds,
    )
    from pelican_resourcesync.publication.next_generation import PlannedPublication, Request
    from pelican_resourcesync.publication.pages import DOCUMENTS, Amount, Overview, mirror_command
    from pelican_resourcesync.publication.previous import (
        Ancestry,
        HashedState,
        KnownGeneration,
        LastPublishedCopy,
        Output,
        PlainOutput,
        Predecessor,
        PredecessorSearch,
        PreviousPublication,
        compare_ancestry,
        is_published,
        layout_after,
        predecessor_messages,
        publications_in,
        read_previous,
        read_state,
    )
    from pelican_resourcesync.publication.publish import Publication, plan, publish_sets, require_plausible
    from pelican_resourcesync.publication.status import (
        Cost,
        SetStatus,
        Status,
        Volume,
        WellKnownStatus,
        costs_of,
        local_status,
        remote_status,
    )
    from pelican_resourcesync.publication.workspace import WORK_FOLDER, Workspace

#: The modules with these names, the light ones first.
_PARTS = (
    "model",
    "workspace",
    "disk",
    "documents",
    "previous",
    "diff",
    "next_generation",
    "publish",
    "forget",
    "pages",
    "status",
)

__all__ = [
    "DESCRIPTION",
    "DOCUMENTS",
    "FOLDER",
    "HEADER_FILES",
    "MD5",
    "PERIODS",
    "RECORDS",
    "SHA_256",
    "STATE",
    "TEMPORARY_PREFIX",
    "TICK",
    "UNKNOWN_TYPE",
    "WELL_KNOWN",
    "WORK_FOLDER",
    "Amount",
    "Ancestry",
    "Archives",
    "Calendar",
    "Change",
    "ChangeHistory",
    "Cost",
    "Dumps",
    "FileResources",
    "FixedBoundaries",
    "HashedState",
    "KnownGeneration",
    "LastPublishedCopy",
    "Layout",
    "Listed",
    "Listing",
    "Options",
    "Output",
    "Overview",
    "PageOptions",
    "PlainOutput",
    "PlannedPublication",
    "Predecessor",
    "PredecessorSearch",
    "PreviousPublication",
    "Publication",
    "RangeBoundaries",
    "Representation",
    "Request",
    "Resource",
    "Resources",
    "Row",
    "SetStatus",
    "State",
    "Status",
    "TakedownResult",
    "Volume",
    "WellKnownStatus",
    "Workspace",
    "add_link_headers",
    "add_robots_line",
    "are_few",
    "build_time",
    "changes_since",
    "compare_ancestry",
    "costs_of",
    "forget_uris",
    "is_later",
    "is_loopback",
    "is_published",
    "keep_dot_folders",
    "later",
    "layout_after",
    "local_status",
    "locked",
    "media_type",
    "mirror_command",
    "parse_representation",
    "parse_state",
    "parse_time",
    "plan",
    "predecessor_messages",
    "publications_in",
    "publish_sets",
    "read_previous",
    "read_state",
    "recover",
    "remote_status",
    "remove_tree",
    "render_state",
    "render_time",
    "replace_file",
    "require_plausible",
    "require_same_site",
    "same_bytes",
    "sync",
    "temporary_sibling",
    "well_known_reachable",
    "whole_milliseconds",
]


def __getattr__(name: str) -> Any:
    for part in _PARTS if name in __all__ else ():
        module = import_module(f"{__name__}.{part}")
        if hasattr(module, name):
            return getattr(module, name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)
