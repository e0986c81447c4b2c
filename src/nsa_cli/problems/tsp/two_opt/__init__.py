"""The paper's annealing of tours: 2-opt over all pairs of cities, and over candidate lists."""
