"""Tests of the history of a site: the rule, and what it is read with."""
