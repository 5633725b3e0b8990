"""Peers of gpudoctor, run on the same machines: see tools/compare_peers.py."""
