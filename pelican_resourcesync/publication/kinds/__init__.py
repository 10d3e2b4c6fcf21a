"""The kinds of documents of a publication: for each, which there are next, and how they are written."""

from pelican_resourcesync.publication.kinds.dumps import plan_change_dumps, plan_resource_dump
from pelican_resourcesync.publication.kinds.kind import News, PlanKind, PlannedDocuments
from pelican_resourcesync.publication.kinds.lists import ChangeLists, plan_notifications, plan_resource_lists
from pelican_resourcesync.publication.kinds.pages.changes import ChangePages
from pelican_resourcesync.publication.kinds.patches import Patches
from pelican_resourcesync.publication.kinds.versions import Versions

__all__ = ["PLANS", "News", "PlannedDocuments"]

#: All kinds, in the order in which they are planned and written.
PLANS: tuple[PlanKind, ...] = (
    plan_resource_lists,
    plan_resource_dump,
    ChangeLists,
    plan_change_dumps,
    plan_notifications,
    Patches,
    Versions,
    ChangePages,
)
