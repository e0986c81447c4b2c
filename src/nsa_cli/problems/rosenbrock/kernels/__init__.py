"""Compiled code of Rosenbrock's function, and the tuples of arrays that are its arguments."""
