"""Iterated local search of tours (large-step Markov chains): Lin-Kernighan, kicked by double bridges."""
