"""`python -m pelican_resourcesync`: the same as the command `pelican-resourcesync`."""

from pelican_resourcesync.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
