"""Compiled code for tours, and the arrays that it works on; it knows nothing of instances."""
