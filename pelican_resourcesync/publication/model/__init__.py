"""The values of a publication: resources, changes, ranges, layout, state."""
