"""The corpus: real sites, built commit by commit, on which the content hash of a page is judged."""
