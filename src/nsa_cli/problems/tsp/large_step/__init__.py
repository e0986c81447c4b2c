"""Iterated local search of tours (large-step Markov chains): Lin-Kernighan, kicked by double bridges."""

from nsa_cli.problems.tsp.large_step.chains import TspLargeStep

large_step = TspLargeStep()
