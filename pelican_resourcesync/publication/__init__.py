"""A set of resources, published repeatedly over time: changes, commit ranges, documents and discovery.

In short: `publication = publish_sets(previous publications, current resources, their history)`. This package depends on
neither Pelican nor git, so a bridge from a database can use it too.

Other packages import from here.
"""

from pelican_resourcesync.publication.comparison.changes import MOST_EXAMPLES, changes_since
from pelican_resourcesync.publication.comparison.parts import Map
from pelican_resourcesync.publication.disk.staging import (
    Workspace,
    recover,
    recovered,
    restore_well_known,
    work_folder_for,
)
from pelican_resourcesync.publication.kinds.pages.changes import parse_shown
from pelican_resourcesync.publication.kinds.pages.overview import DOCUMENTS, Amount, Overview
from pelican_resourcesync.publication.kinds.pages.rendering import language_hints, mirror_command
from pelican_resourcesync.publication.kinds.versions import VersionIndex, former_states
from pelican_resourcesync.publication.model.clock import build_time, later, whole_seconds
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.kinds import RESOURCE_LIST_PART, VERSION, headers_of, kind_of
from pelican_resourcesync.publication.model.layout import (
    DESCRIPTION,
    FOLDER,
    RECORDS,
    STATE,
    WELL_KNOWN,
    Layout,
    replaced_path,
    set_of,
    well_known_hints,
)
from pelican_resourcesync.publication.model.options import COPY, PELICAN, REPOSITORY, SITE, Options, PageOptions
from pelican_resourcesync.publication.model.ranges import Calendar, FixedBoundaries, RangeBoundaries
from pelican_resourcesync.publication.model.resource import (
    MD5,
    SHA_256,
    FileResources,
    Listed,
    Representation,
    Resource,
    Resources,
    Row,
    is_later,
    parse_representation,
    parse_time,
    render_time,
)
from pelican_resourcesync.publication.model.sanity_checks import START_OVER, are_few, explanation_of, is_loopback
from pelican_resourcesync.publication.model.state import FirstPublication, PublicationState, parse_state
from pelican_resourcesync.publication.other_publishers import find_other_sets
from pelican_resourcesync.publication.plan import ExpectedSet, PublishRequest
from pelican_resourcesync.publication.previous.previous import (
    PreviousPublication,
    ResourceList,
    layout_after,
    layouts_in,
    publication_in,
    publications_in,
    read_previous,
    read_state,
    sets_published_by,
    state_in,
)
from pelican_resourcesync.publication.previous.search import (
    LastPublishedCopy,
    Predecessor,
    PredecessorSearch,
    is_published,
    predecessor_messages,
    state_in_output,
)
from pelican_resourcesync.publication.publish import Publication, plan_sets, publish_sets, require_plausible
from pelican_resourcesync.publication.status import SetStatus, Status, WellKnownStatus, local_status, remote_status
from pelican_resourcesync.publication.takedown import TakedownResult, forget_uris

__all__ = [
    "COPY",
    "DESCRIPTION",
    "DOCUMENTS",
    "FOLDER",
    "MD5",
    "MOST_EXAMPLES",
    "PELICAN",
    "RECORDS",
    "REPOSITORY",
    "RESOURCE_LIST_PART",
    "SHA_256",
    "SITE",
    "START_OVER",
    "STATE",
    "VERSION",
    "WELL_KNOWN",
    "Amount",
    "Calendar",
    "Change",
    "ChangeHistory",
    "ExpectedSet",
    "FileResources",
    "FirstPublication",
    "FixedBoundaries",
    "LastPublishedCopy",
    "Layout",
    "Listed",
    "Map",
    "Options",
    "Overview",
    "PageOptions",
    "Predecessor",
    "PredecessorSearch",
    "PreviousPublication",
    "Publication",
    "PublicationState",
    "PublishRequest",
    "RangeBoundaries",
    "Representation",
    "Resource",
    "ResourceList",
    "Resources",
    "Row",
    "SetStatus",
    "Status",
    "TakedownResult",
    "VersionIndex",
    "WellKnownStatus",
    "Workspace",
    "are_few",
    "build_time",
    "changes_since",
    "explanation_of",
    "find_other_sets",
    "forget_uris",
    "former_states",
    "headers_of",
    "is_later",
    "is_loopback",
    "is_published",
    "kind_of",
    "language_hints",
    "later",
    "layout_after",
    "layouts_in",
    "local_status",
    "mirror_command",
    "parse_representation",
    "parse_shown",
    "parse_state",
    "parse_time",
    "plan_sets",
    "predecessor_messages",
    "publication_in",
    "publications_in",
    "publish_sets",
    "read_previous",
    "read_state",
    "recover",
    "recovered",
    "remote_status",
    "render_time",
    "replaced_path",
    "require_plausible",
    "restore_well_known",
    "set_of",
    "sets_published_by",
    "state_in",
    "state_in_output",
    "well_known_hints",
    "whole_seconds",
    "work_folder_for",
]
