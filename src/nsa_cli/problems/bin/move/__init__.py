"""Neighbourhood of the paper: an item moves to another bin, and the energy is the number of bins."""

from __future__ import annotations

from nsa_cli.core.neighbourhood import Budget, Neighbourhood, Trained
from nsa_cli.problems.bin.instance import BinInstance


class MoveItem(Neighbourhood[BinInstance]):
    """Number of bins; an item moves to another bin with room for it (section 4.3)."""

    def default_policy(self, instance: BinInstance) -> str:
        return "bin-es-bins"

    def budget(self, instance: BinInstance, trained: Trained | None = None) -> Budget:
        """Some seconds of the kernel at most; a temperature at which a bin is opened now and then."""
        if trained is not None:
            steps = max(min(200 * instance.size, 200_000), 50_000)
            chains = max(min(4_000 // instance.size, 8), 1)
            return Budget(steps, trained.t_start, trained.t_end, chains)
        steps = max(min(400 * instance.size, 400_000), 100_000)
        return Budget(steps, 0.2, 0.05, chains=max(min(8_000 // instance.size, 16), 1))
