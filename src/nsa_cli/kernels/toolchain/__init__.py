"""How kernels become machine code, and are found again: shipped with the package, or compiled and kept.

Only `compiler` imports Numba when it is imported.
"""
