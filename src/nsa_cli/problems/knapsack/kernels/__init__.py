"""Compiled code of the knapsack, and the tuples of arrays that are its arguments."""
