"""The files that a build wrote: which are resources, and of which set."""
