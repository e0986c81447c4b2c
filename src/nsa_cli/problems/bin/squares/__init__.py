"""Sum of squares neighbourhood (Falkenauer 1996): an item moves to another bin, or two swap."""
