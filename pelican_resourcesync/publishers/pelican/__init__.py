"""What Pelican built, from which sources, and their history in git.

Together with `plugin`, this is the only package that knows both Pelican and git. It passes to `publication` the
resources of the site, the changes found in the history, and the times at which they landed.
"""

from pelican_resourcesync.publishers.pelican.session import Session
from pelican_resourcesync.publishers.pelican.site import Configuration, read_configuration, require_latest

__all__ = ["Configuration", "Session", "read_configuration", "require_latest"]
