"""Publishers: what reads a Pelican site, a folder or other Sources, and publishes it. Each is imported by itself."""
