"""Programs of others against this project: `python -m tests.tools.peers` runs them and writes the page."""
