"""A set of resources, published repeatedly over time: changes, commit ranges, documents and discovery.

In short: `publication = publish(previous publication, current resources, their history)`. This package depends on
neither Pelican nor git, so a bridge from a database can use it too.
"""
