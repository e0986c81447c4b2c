"""Large steps of a user's problem: a kick of random moves, then first-improvement descent by its moves."""
