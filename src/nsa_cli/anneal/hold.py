"""Temperature hold: a policy sees a new temperature every so many steps, acceptance the current one.

From one step to the next the temperature hardly changes, but with it do the scores of all candidates. Under a
held temperature untouched candidates keep their scores, which a kernel need not compute again
(`nsa_cli.kernels.slots.update_scores`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class TemperatureHold:
    """The temperature of every step that is a multiple of `steps`, shown until the next one.

    Parameters
    ----------
    steps : int
        At least 1, which is the paper's: each step's own temperature.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._last: float | None = None

    def shown(self, step: int, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Temperatures that the policy sees, float64[K], from step `step` on; those of the steps are given.

        Chunks change nothing: the last temperature shown is remembered.
        """
        if self._steps == 1 or len(temperatures) == 0:
            return temperatures
        numbers = np.arange(step, step + len(temperatures))
        begins = numbers - numbers % self._steps - step
        last = temperatures[0] if self._last is None else self._last
        shown = np.where(begins >= 0, temperatures[np.maximum(begins, 0)], last)
        self._last = float(shown[-1])
        return shown
