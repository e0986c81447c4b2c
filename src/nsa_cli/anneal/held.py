"""A temperature that a policy sees for some steps, while acceptance goes by that of each step.

From one step to the next the temperature hardly changes, but with it all scores do, of all candidates. A
policy that is shown one temperature for some steps gives untouched candidates the same scores in all of them,
and a kernel need not compute those again (`nsa_cli.core.kernel.slots.score_again`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class Held:
    """What a policy is shown: the temperature of every step that is a multiple of `steps`, until the next.

    Parameters
    ----------
    steps : int
        At least 1, which is the paper's: each step's own temperature.
    """

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._last: float | None = None

    def of(self, step: int, temperatures: NDArray[np.float64]) -> NDArray[np.float64]:
        """Give what is shown in steps from `step` on, float64[K], of which the temperatures are float64[K].

        Whatever the chunks: what was shown last is remembered.
        """
        if self._steps == 1 or len(temperatures) == 0:
            return temperatures
        numbers = np.arange(step, step + len(temperatures))
        begins = numbers - numbers % self._steps - step
        last = temperatures[0] if self._last is None else self._last
        shown = np.where(begins >= 0, temperatures[np.maximum(begins, 0)], last)
        self._last = float(shown[-1])
        return shown
