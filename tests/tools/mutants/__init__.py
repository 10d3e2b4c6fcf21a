"""Mutation testing: small faults are put into the code one at a time, and a package's own tests should notice each.

`make mutants` (or `python -m tests.tools.mutants --count 30 protocol`) tries a random sample and prints the survivors.
Never part of `make test`.
"""
