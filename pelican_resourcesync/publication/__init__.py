"""One set of resources published over time: changes, commit ranges, documents, discovery.

`publication = publish(previous publication, resources as they are now, history of how they came to be)`. Knows
neither Pelican nor git: a bridge from a database publishes with it too.
"""
