"""The values of a publication: resources, changes, ranges, options, paths and state."""

from pelican_resourcesync.publication.model.clock import TICK, build_time, later, whole_milliseconds
from pelican_resourcesync.publication.model.history import Change, ChangeHistory
from pelican_resourcesync.publication.model.layout import DESCRIPTION, FOLDER, RECORDS, STATE, WELL_KNOWN, Layout
from pelican_resourcesync.publication.model.media_types import UNKNOWN_TYPE, media_type
from pelican_resourcesync.publication.model.options import PERIODS, Archives, Dumps, Options, PageOptions
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
from pelican_resourcesync.publication.model.sanity_checks import are_few, is_loopback, require_same_site
from pelican_resourcesync.publication.model.state import PublicationState, parse_state, render_state

__all__ = [
    "DESCRIPTION",
    "FOLDER",
    "MD5",
    "PERIODS",
    "RECORDS",
    "SHA_256",
    "STATE",
    "TICK",
    "UNKNOWN_TYPE",
    "WELL_KNOWN",
    "Archives",
    "Calendar",
    "Change",
    "ChangeHistory",
    "Dumps",
    "FileResources",
    "FixedBoundaries",
    "Layout",
    "Listed",
    "Options",
    "PageOptions",
    "PublicationState",
    "RangeBoundaries",
    "Representation",
    "Resource",
    "Resources",
    "Row",
    "are_few",
    "build_time",
    "is_later",
    "is_loopback",
    "later",
    "media_type",
    "parse_representation",
    "parse_state",
    "parse_time",
    "render_state",
    "render_time",
    "require_same_site",
    "whole_milliseconds",
]
