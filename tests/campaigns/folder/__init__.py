"""Random lives of a folder."""
