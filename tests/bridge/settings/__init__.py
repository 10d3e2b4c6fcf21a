"""The settings of the bridge."""
