"""The commands: how each reports its result, for people and for programs."""
