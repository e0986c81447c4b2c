"""Proposal distributions: the paper's small networks, and uniform ones; checkpoints."""
