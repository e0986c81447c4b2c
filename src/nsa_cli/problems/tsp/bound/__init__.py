"""Lower bounds on tours: the 1-tree bound of Held and Karp, and the dynamic programme for a dozen cities."""
