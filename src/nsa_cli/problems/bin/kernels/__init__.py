"""Compiled code of bin packing, and the tuples of arrays that are its arguments."""
