"""Access to a git repository: commits, paths, blobs and landing times. Knows nothing about Pelican."""
