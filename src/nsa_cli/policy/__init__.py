"""Proposal distributions: learnt networks, uniform proposals; policy files."""
