"""The witness: what a site's output really was after each commit, and how true our Change Lists are to that.

It shares no code with what it judges. `python -m tests.tools.truth --help` says how to ask it.
"""
