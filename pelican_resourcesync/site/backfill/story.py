"""The story: what changed from one build to the next."""

from datetime import datetime

from pelican_resourcesync.publication.account import changes_since
from pelican_resourcesync.publication.change import Change
from pelican_resourcesync.publication.resource import Listed
from pelican_resourcesync.site.backfill.record import Record


class Story:
    """Told of a set build by build, oldest first; `changes` are all so far, with the hashes of their bytes."""

    def __init__(self, set_name: str) -> None:
        """Begin with nothing; take the name of the set."""
        self._set_name = set_name
        self.changes: list[Change] = []
        self._listed: dict[str, Listed] = {}

    def tell(self, record: Record, landed: datetime) -> None:
        """Tell what a build, of a commit that landed at that time, has made of the one before: the bytes say it."""
        now = record.resources(self._set_name)
        changes = changes_since(self._listed, now, (), unexplained=landed)
        for change in changes:
            self._listed.pop(change.uri, None)
            if change.representation is not None:
                self._listed[change.uri] = Listed(change.representation, landed)
        self.changes += changes
