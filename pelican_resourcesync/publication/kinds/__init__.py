"""The kinds of documents of a publication: for each, which there are next, and how they are written."""

from pelican_resourcesync.publication.kinds.kind import News, PlanKind, PlannedDocuments
from pelican_resourcesync.publication.kinds.notifications import plan_notifications

__all__ = ["PLANS", "News", "PlannedDocuments"]

#: The kinds that are planned and written by themselves.
PLANS: tuple[PlanKind, ...] = (plan_notifications,)
