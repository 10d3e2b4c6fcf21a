"""Output about publications, as text for people and JSON for programs: of the plug-in, the commands and the bridge."""
