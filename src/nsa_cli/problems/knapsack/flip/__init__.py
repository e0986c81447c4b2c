"""Neighbourhood of the paper: one item goes in or out."""

from __future__ import annotations

from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.problems.knapsack.instance import KnapsackInstance


class FlipItem(Neighbourhood[KnapsackInstance]):
    """Value; one item goes in or out (section 4.2)."""

    def default_policy(self, instance: KnapsackInstance) -> str:
        """Uniform proposals below 25 items, where a policy learnt on 50 leaves too many moves out."""
        return "uniform" if instance.size < 25 else "knapsack-es-best"

    def budget(self, instance: KnapsackInstance, trained: Trained | None = None) -> Budget:
        """Some seconds of the kernel at most; temperatures measured from greedy selections."""
        if trained is not None:
            steps = max(min(200 * instance.size, 400_000), 50_000)
            chains = max(min(4_000 // instance.size, 8), 1)
            return Budget(steps, trained.t_start, trained.t_end, chains)
        steps = max(min(400 * instance.size, 800_000), 100_000)
        return Budget(steps, 0.2, 0.02, chains=max(min(16_000 // instance.size, 16), 1))
