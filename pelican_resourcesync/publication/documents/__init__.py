"""The documents of a publication, and the page for people."""
