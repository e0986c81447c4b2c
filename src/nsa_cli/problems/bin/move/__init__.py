"""Neighbourhood of the paper: an item moves to another bin."""
