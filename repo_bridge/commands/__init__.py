"""The commands of the bridge, and what each of them prints."""
