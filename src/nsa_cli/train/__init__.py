"""Training of policies: PPO and evolution strategies as flat loops over a shared run."""
