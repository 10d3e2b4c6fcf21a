"""Whole programs from end to end: real sites and repositories, built and published, read as strangers read them."""
