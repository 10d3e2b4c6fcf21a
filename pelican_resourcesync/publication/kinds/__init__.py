"""The kinds of documents of a publication: for each, which there are next, and how they are written."""
