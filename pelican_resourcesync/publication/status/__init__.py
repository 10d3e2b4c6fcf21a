"""The state of a publication, in a folder or at a URL."""
