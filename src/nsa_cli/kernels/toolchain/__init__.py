"""How kernels become machine code, and are found again: shipped with the package, or compiled and kept.

Nothing here but `compiler`, `ahead` and `numba_files` imports Numba or llvmlite when it is imported.
"""
