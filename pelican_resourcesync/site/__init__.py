"""What Pelican built, from which sources, and what git says of them.

The only part, with `plugin`, that knows Pelican and git. It gives `publication` the resources of the site, the
changes that history tells and the times at which they landed.
"""
