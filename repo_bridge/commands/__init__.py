"""The commands of the bridge: what each says of what the parts have done."""
