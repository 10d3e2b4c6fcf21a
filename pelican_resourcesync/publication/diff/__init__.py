"""What changed since the previous publication."""
