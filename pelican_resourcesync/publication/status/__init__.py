"""The status of publications, in a folder or at a URL, and what dumps and archives cost."""

from pelican_resourcesync.publication.status.remote import remote_status
from pelican_resourcesync.publication.status.sizes import Cost, Volume, costs_of
from pelican_resourcesync.publication.status.status import SetStatus, Status, WellKnownStatus, local_status

__all__ = [
    "Cost",
    "SetStatus",
    "Status",
    "Volume",
    "WellKnownStatus",
    "costs_of",
    "local_status",
    "remote_status",
]
