"""Writing to disk: staging, atomic installation, locks, durability."""
