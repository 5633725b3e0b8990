"""Faults: everything that can be broken around gpudoctor, and what it has promised for that; see fault.py."""
