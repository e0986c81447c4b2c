"""Output: results as text, annealing curves, pictures."""
