"""Kernels of own problems: a user's functions put together, and annealing by them."""
