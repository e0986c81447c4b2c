"""Proofs of optimality of tours: a linear programme with cuts, and branch and bound.

A tour gives each edge 1 or 0, so that each city has two edges (Dantzig, Fulkerson and Johnson 1954). Without
whole numbers that is a linear programme, whose optimum is a bound; inequalities that all tours obey and its
solution does not (`cuts`) raise it. HiGHS solves it on few edges (`relaxation`). What is told of it is
computed from its dual values, rounded to whole numbers, over all edges (`lengths`): any such values give a
valid bound. Edges whose reduced cost alone would lift the bound to the best tour's length are in no better
tour, and drop out; what then is open, is decided by cases: an edge is in the tour or is not (`search`).
A `certificate` has the values of all cases.
"""
