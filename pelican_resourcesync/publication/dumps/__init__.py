"""Packages: bitstreams and the manifest that lists them, in ZIP files (`RD`, `CD`)."""
