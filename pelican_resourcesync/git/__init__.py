"""What git says: commits, paths, blobs and landing times. Knows nothing of Pelican."""
