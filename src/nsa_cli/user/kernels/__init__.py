"""Kernels of own problems: a user's functions put together, annealing by them, and large steps."""
