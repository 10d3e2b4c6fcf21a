"""Packages: ZIP files of bitstreams and the manifest that lists them (`RD`, `CD`)."""
