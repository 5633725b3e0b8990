"""Whole machines and whole Python environments for tests: see machine.py and patient.py."""
