"""The values of a publication: resources, changes, ranges, options, paths and state."""
