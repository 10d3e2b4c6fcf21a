"""Tests of the inventory: what there is, how it is filled, and what is kept of it for the next time."""
