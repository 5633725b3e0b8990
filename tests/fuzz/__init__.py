"""Texts nobody would write, for as long as one likes: `python -m tests.fuzz --minutes 60`."""
