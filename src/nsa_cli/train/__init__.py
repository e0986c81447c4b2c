"""Learning proposals: PPO and Evolution Strategies as flat loops, and what both share."""
