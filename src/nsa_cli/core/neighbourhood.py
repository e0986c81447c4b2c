"""Neighbourhoods: a move set with its energy."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from nsa_cli.core.extras import need
from nsa_cli.core.folder import find_part
from nsa_cli.core.instance import Instance

if TYPE_CHECKING:
    from nsa_cli.core.operations import Operations
    from nsa_cli.kernels.hooks import Fused

InstanceT = TypeVar("InstanceT", bound=Instance)


@dataclass(frozen=True)
class Trained:
    """Size and temperatures that a policy was trained with.

    Attributes
    ----------
    size : int
    t_start, t_end : float
        In normalised units.
    """

    size: int
    t_start: float
    t_end: float


@dataclass(frozen=True)
class Budget:
    """Default steps, temperatures and chains.

    Attributes
    ----------
    steps : int
    t_start, t_end : float
        Temperatures in the problem's normalised units (see `Operations.pack`).
    chains : int
    auto : bool
        Whether temperatures that the run itself finds are better.
    """

    steps: int
    t_start: float
    t_end: float
    chains: int = 1
    auto: bool = False


class Interpreted(NamedTuple):
    """Annealing that needs no compiler.

    Attributes
    ----------
    start : callable
        ``start(instances, x, keys, unit)`` puts chains at their first solutions.
    budget : callable
        ``budget(instance, seconds)`` chooses a `Budget`.
    """

    start: Callable[..., Any]
    budget: Callable[[Any, float | None], Budget]


class Neighbourhood(ABC, Generic[InstanceT]):
    """A move set with its energy; a policy belongs to one.

    Torch and Numba are imported by `operations` and `kernel` only: from modules of these names, with the
    attributes `operations` and `fused`, in the package that defines the neighbourhood.

    Attributes
    ----------
    name : str
        ``paper`` for the paper's; a number after a colon is a parameter: ``nearest:10``.
    """

    name: str = "paper"

    @property
    def family(self) -> str:
        """Name without its parameter; a policy fits all neighbourhoods of a family."""
        return self.name.partition(":")[0]

    def operations(self) -> Operations[InstanceT, Any]:
        """Import the reference implementation in torch.

        Raises
        ------
        UsageError
            If torch is not installed.
        """
        need("torch", "the reference implementation")
        found = find_part(self, "operations", "operations")
        assert found is not None, f"{self.name}: no operations"
        return found

    def kernel(self) -> Fused | None:
        """Import the fused kernel; None if there is none."""
        return find_part(self, "fused", "fused")

    def interpreted(self) -> Interpreted | None:
        """Give annealing that needs no compiler; None if there is none."""
        return None

    def why_uncompiled(self) -> str | None:
        """Tell why the kernel cannot be compiled, as far as is known; None if it may be."""
        return None

    @abstractmethod
    def budget(self, instance: InstanceT, trained: Trained | None = None) -> Budget:
        """Choose default steps, temperatures and chains for an instance.

        Parameters
        ----------
        instance : Instance
        trained : Trained, optional
            Of the policy; None for uniform proposals.
        """

    def default_policy(self, instance: InstanceT) -> str:
        """Name the best known policy for an instance."""
        return "uniform"
