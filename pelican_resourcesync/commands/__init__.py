"""The commands: what each says of what the parts have done, for people and for programs."""
