"""What fused kernels are made of: compilation, random draws, vector operations, choice among candidates.

A kernel takes chains through many steps without returning to Python. The loop (`nsa_cli.anneal.kernel`) is
one for all problems; a problem gives the parts named in `nsa_cli.core.kernel.parts`.
"""
