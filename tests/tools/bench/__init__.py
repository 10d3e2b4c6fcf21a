"""Benchmarks: `make bench` runs them all, `make bench CASE="writer build"` some. `make test` only tries that each runs.

Each case runs the same work in several ways (ours, another program, and the least that it can cost) as whole processes,
in turns. What counts are ratios within one run, because machines differ and are noisy.
"""
