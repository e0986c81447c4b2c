"""Neighbourhood of the paper: one item goes in or out."""
