"""Problem contract, and tasks: instances, files, generators, starts, bounds and neighbourhoods.

Moves and energies are those of its neighbourhoods (`nsa_cli.core.neighbourhood`), which import torch and
Numba only when they are used, so that reading a file or printing help never does.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from nsa_cli.core.bound import Bound
from nsa_cli.core.clock import Clock
from nsa_cli.core.errors import DataError, UsageError, shown
from nsa_cli.core.exact import Exact
from nsa_cli.core.folder import find_part
from nsa_cli.core.instance import Instance, Solution
from nsa_cli.core.neighbourhood import Budget, InstanceT, Neighbourhood

if TYPE_CHECKING:
    from nsa_cli.core.drawing import Drawing
    from nsa_cli.core.record import Record, Source

#: ``draws(n)`` gives float64[n], uniform in (0, 1), the same for the same chain whatever runs beside it.
Draws: TypeAlias = Callable[[int], NDArray[np.float64]]

#: Builds a start for one chain; deterministic heuristics ignore the draws.
Start: TypeAlias = Callable[[Any, Draws], Solution]


@dataclass(frozen=True)
class Column:
    """One number or name of each element (cities, items): a column of a table, a list of a JSON record.

    Attributes
    ----------
    key : str
        The record key that the column fills.
    headers : tuple of str
        Words that mean this column in any form, the one that is written first.
    text : bool
        Whether entries may be text (names) rather than numbers.
    """

    key: str
    headers: tuple[str, ...]
    text: bool = False


@dataclass(frozen=True)
class FileFormat:
    """A problem's own text format for instances, or for solutions.

    Attributes
    ----------
    name : str
    suffixes : tuple of str
        File name endings, lower case, with the dot.
    recognises : callable
        ``recognises(source) -> bool``, cheap, by content.
    read : callable
        ``read(source) -> list of Record``; of solutions a list of ids, as `Instance.from_ids` wants them.
    write : callable, optional
        ``write(instance) -> str``; of solutions ``write(instance, solution) -> str``.
    check : callable, optional
        ``check(instance)``, of solutions: raises UsageError if the format cannot hold those of an instance.
    """

    name: str
    suffixes: tuple[str, ...]
    recognises: Callable[[Source], bool]
    read: Callable[[Source], list[Any]]
    write: Callable[..., str] | None = None
    check: Callable[[Any], Any] | None = None


@dataclass(frozen=True)
class FileSet:
    """A format of several files that make one instance.

    Attributes
    ----------
    name : str
    pattern : str
        Regular expression for the whole name of a file, with groups ``stem`` and ``part``.
    parts : mapping of str to bool
        Values of ``part``, and whether the file is required.
    read : callable
        ``read(stem, sources) -> Record``, `sources` by part.
    """

    name: str
    pattern: str
    parts: Mapping[str, bool]
    read: Callable[[str, Mapping[str, Source]], Record]


class Segment(NamedTuple):
    """A segment of a partitioned solution, which a chain of its own advances for a while.

    Attributes
    ----------
    data, state
        The arguments of the hooks of `nsa_cli.kernels.steps`, of the same types as the whole chain's. The
        energy is what has been added since the cut. The segment descends to a local optimum first.
    """

    data: Any
    state: Any


class Partition(Protocol):
    """A large-step chain cut into segments, round after round, so that several threads advance it.

    Attributes
    ----------
    count, steps : int
        The numbers of segments and of steps of a round; they depend on nothing but the instance.
    """

    @property
    def count(self) -> int: ...
    @property
    def steps(self) -> int: ...

    def cut(self, draws: Draws) -> NDArray[np.float64]:
        """Cut the current solution into segments; give each one's share of the steps, float64[count]."""

    def segment(self, number: int) -> Segment:
        """Make a segment of the last cut; several threads may do so at once."""

    def join(self, *, improved: bool) -> tuple[float, float]:
        """Put the segments' solutions into the run's state; the segments may go on.

        Parameters
        ----------
        improved : bool
            Whether the best solution is now that of the best of each segment.

        Returns
        -------
        current, best : float
            The energies in file units, not from sums of changes.
        """


#: The fewest solutions of a population: the time for fewer is better spent in a chain. Measured on uniform
#: cities: 13 lose, 16 are level, 30 and more win.
LEAST_POPULATION = 15

#: The share of a run in which a population is constructed.
CONSTRUCTION_SHARE = 0.5


class Recombination(Protocol):
    """A population for large steps: how its solutions are constructed, and what that and crossover take.

    Its data have the hooks `set_solution` and `recombine` of `nsa_cli.kernels.steps`.

    Attributes
    ----------
    size : int
        The number of elements of a solution.
    construction_kicks, crossover_kicks : float
        The numbers of kicks that take as long as the construction of a solution, and as a crossover of two.
    """

    size: int
    construction_kicks: float
    crossover_kicks: float

    def worker(self) -> Any:
        """Make a chain's state in which solutions are constructed; the array ``best`` holds the result."""

    def start(self, number: int, draws: Draws) -> NDArray[Any]:
        """Draw a start by its number: an array in the form of a state's ``best``, before local search."""


class LargeStepRun(NamedTuple):
    """A large-step chain's share in the compiled loop, and how to read its solutions.

    Attributes
    ----------
    data, state
        The arguments of the hooks of `nsa_cli.kernels.steps`.
    current, best : callable
        They give the current solution and the best one.
    partition : Partition, optional
        The cuts into segments, if these are to be advanced once the first solution is at a local optimum.
    recombination : Recombination, optional
        The instance's population, if its chains are to go on from one.
    """

    data: Any
    state: Any
    current: Callable[[], Solution]
    best: Callable[[], Solution]
    partition: Partition | None = None
    recombination: Recombination | None = None


class LargeStep(Protocol):
    """Chains whose step is a kick, local search, and acceptance or rejection (Martin, Otto, Felten 1991).

    It may also have a method ``chains(instance, seconds, threads)``: how many there are to be in that time.
    """

    def fits(self, instance: Any) -> bool:
        """Tell whether there is anything to kick."""

    def budget(self, instance: Any) -> Budget:
        """Choose kicks, temperatures and chains for an instance."""

    def runs(
        self, instances: Sequence[Any], x: NDArray[Any], kicks: float = math.inf, fast_setup: bool = False
    ) -> list[LargeStepRun]:
        """Put chains at their first solutions [B, …], one instance a chain.

        Parameters
        ----------
        instances : sequence of Instance
        x : [B, …]
        kicks : float
            The number that there is time for, in all chains of an instance together.
        fast_setup : bool
            Whether local search has to be ready at once, if with a weaker set-up.
        """


class Proof(Protocol):
    """A search for a proof that a solution is optimal, or for a better one; it runs in a thread of its own.

    Attributes
    ----------
    solution : Solution
        The best one so far.
    limit : Exact or None
        A bound on the optimum, in file units; None before there is one.
    proved : bool
        Whether there is none better than `solution`.
    open : int
        Cases that are not decided.
    method : str
        Name in the literature.
    """

    solution: Solution
    proved: bool
    open: int
    method: str

    @property
    def limit(self) -> Exact | None: ...

    def offer(self, solution: Solution, objective: Exact) -> None:
        """Hand over a solution of another search, from any thread."""

    def witness(self) -> Mapping[str, Any]:
        """Give what `Problem.recompute_bound` computes the optimum from, once it is proved."""

    def run(self) -> None:
        """Search until there is a proof, the clock is over, or the effort is spent."""


class Problem(ABC, Generic[InstanceT]):
    """A problem: its data, files, starts, bounds and neighbourhoods.

    A built-in problem is a folder under ``problems/`` whose package has a `problem` attribute; a user's
    is a class in a file. Class attributes describe it, methods build its instances. Modules of the
    folder that import slowly are found by name: `large_step`, `bound` and `plot`.

    Attributes
    ----------
    name : str
    summary : str
        A line for listings.
    sense : {'min', 'max'}
    record_keys : tuple of tuples
        Keys that recognise a JSON record: one of each inner tuple is required.
    columns : tuple of Column
        How a table, or a list of objects, fills a record.
    column_sets : tuple of tuples
        Keys of the columns that a table needs; one of the tuples is enough.
    keys : tuple of str
        Keys of a record beside columns, arrays and settings.
    words : mapping of str to tuple of str
        Further words for keys that are no columns. A word may mean several keys that differ in their axes.
    harmless : tuple of str
        Words for data on which no answer depends, beside those of all problems.
    neutral : mapping of str to tuple
        Words for rules of other problems, each with the values at which it changes nothing; None is any
        single value.
    elsewhere : mapping of str to str
        Words for data of other problems, with where these are solved.
    arrays : mapping
        Keys of binary data sets, each with the number of axes of one instance's array; a further axis in
        front counts instances. An array without a name is the first of them.
    formats, file_sets, solution_formats : tuple
    json_forms : tuple of pairs
        JSON of other programs: ``recognises(value) -> bool``, cheap, by keys, and ``read(value, source,
        line_of) -> Record``, where ``line_of(*path)`` gives the line of a part, or None.
    starts : mapping
        Named starts, the first of which is the default. ``paper`` is the paper's (Appendix A).
    nested_ids : bool
        Whether a solution is a list of lists of ids; one of them a line where it is plain text.
    answer_columns : tuple of two str
        Headers of `Instance.table` from which a solution is read: order or group of the rows, and ids.
    settings : tuple of str
        Record keys that a user may override, such as ``capacity``.
    paper_sizes : tuple of int
        Sizes for which the paper has a test set.
    neighbourhoods : tuple of Neighbourhood
        Its neighbourhoods, the paper's first.
    default_neighbourhood : str
        The one that `solve` takes unless a policy or a neighbourhood is given.
    bound_share : float or None
        The share of the time limit for a bound whose method often finds the optimum or ends the search; None
        for a fifth, and less of a short time.
    built_in : bool
        Whether a false bound is a fault of ours, and `solve` takes large steps by default.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    sense: ClassVar[Literal["min", "max"]] = "min"
    record_keys: ClassVar[tuple[tuple[str, ...], ...]]
    columns: ClassVar[tuple[Column, ...]] = ()
    column_sets: ClassVar[tuple[tuple[str, ...], ...]] = ()
    keys: ClassVar[tuple[str, ...]] = ()
    words: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    harmless: ClassVar[tuple[str, ...]] = ()
    neutral: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    elsewhere: ClassVar[Mapping[str, str]] = {}
    arrays: ClassVar[Mapping[str, int]] = {}
    formats: ClassVar[tuple[FileFormat, ...]] = ()
    json_forms: ClassVar[tuple[tuple[Callable[[Any], bool], Callable[..., Record]], ...]] = ()
    file_sets: ClassVar[tuple[FileSet, ...]] = ()
    solution_formats: ClassVar[tuple[FileFormat, ...]] = ()
    starts: ClassVar[Mapping[str, Start]]
    nested_ids: ClassVar[bool] = False
    answer_columns: ClassVar[tuple[str, str]] = ("element", "value")
    settings: ClassVar[tuple[str, ...]] = ("name", "best_known")
    paper_sizes: ClassVar[tuple[int, ...]] = ()
    bound_share: ClassVar[float | None] = None
    built_in: ClassVar[bool] = True
    neighbourhoods: ClassVar[tuple[Neighbourhood[Any], ...]]
    default_neighbourhood: ClassVar[str] = "paper"

    def neighbourhood(self, name: str | None = None) -> Neighbourhood[InstanceT]:
        """Find a neighbourhood by name, or the default one; the same object each time.

        Raises
        ------
        UsageError
            If there is none of that name.
        """
        name = self.default_neighbourhood if name is None else name
        known = {found.name: found for found in self.neighbourhoods}
        if name not in known:
            there = f"there are {' and '.join(known)}" if len(known) > 1 else f"there is {', '.join(known)}"
            raise UsageError(f"there is no {shown(name)}; {there}", option="neighbourhood")
        return known[name]

    @abstractmethod
    def from_record(self, data: Mapping[str, Any]) -> InstanceT:
        """Build and validate an instance from its JSON form.

        Raises
        ------
        DataError
            If the data make no instance; names the key and the element.
        """

    @abstractmethod
    def generate(self, size: int, rng: np.random.Generator, name: str | None = None) -> InstanceT:
        """Draw an instance from the distribution that the paper trains and tests on (Appendix A)."""

    def searched(self, instance: InstanceT) -> InstanceT:
        """Give the instance that searches work on, where that is another form of the user's.

        Its objective, violations and bounds are those of the user's, and `Instance.inward` and
        `Instance.outward` turn solutions of one into those of the other.
        """
        return instance

    def anneals(self, instance: InstanceT) -> bool:
        """Tell whether the moves of the neighbourhoods suit an instance, as `searched` gives it."""
        return True

    def check_annealing(self, instance: InstanceT, policy: str) -> None:
        """Refuse to anneal an instance, as `searched` gives it, move by move with a policy.

        Raises
        ------
        UsageError
            If moves or policy do not suit it.
        """

    def samples(self, rng: np.random.Generator) -> Sequence[InstanceT]:
        """Make small instances of each kind with kernels of its own."""
        return [self.generate(size, rng) for size in (10, 200)]

    def group(self, instance: InstanceT) -> Hashable:
        """Give the key of batches: instances with equal keys may share one."""
        return instance.size

    def large_step(self) -> LargeStep | None:
        """Import the problem's large-step chains, `large_step` of that module of its folder, if any."""
        return find_part(self, "large_step", "large_step")

    def bound(self, instance: InstanceT, clock: Clock | None = None) -> Bound | None:
        """Compute a bound on the optimum, by `bound` of the module `bound` of the problem's folder.

        The same instance gives the same bound, unless time runs out: effort is limited by counts.

        Parameters
        ----------
        instance : Instance
        clock : Clock, optional
            With little time the bound is weaker; the method ends soon after somebody has asked for it.
        """
        compute = find_part(self, "bound", "bound")
        return compute and compute(instance, clock or Clock())

    def recompute_bound(self, instance: InstanceT, witness: Mapping[str, Any]) -> Exact:
        """Compute a bound without rounding; witnesses are not trusted.

        By `recompute` of the folder's module `bound`, or of `proof` where it has the leaves of a tree.

        Raises
        ------
        DataError
            If it is no witness of a bound on this instance.
        """
        recompute = find_part(self, "proof" if "leaves" in witness else "bound", "recompute")
        if recompute is None:
            raise DataError(f"{self.name}: bounds have no witness")
        return recompute(instance, witness)

    def proof(self, instance: InstanceT, solution: Solution, clock: Clock, effort: float) -> Proof | None:
        """Prepare a proof by `proof_of` of the folder's module `proof`; None where there can be none.

        Parameters
        ----------
        instance : Instance
            As `searched` gives it.
        solution : Solution
        clock : Clock
        effort : float
            In what takes some millionths of a second, so that the end depends on no clock.
        """
        prepare = find_part(self, "proof", "proof_of")
        return prepare and prepare(instance, solution, clock, effort)

    def try_out(self, instance: InstanceT, seconds: float) -> None:
        """Look for mistakes in functions of the user's, before a search, for so long."""

    def try_again(self, instance: InstanceT, solution: Solution, energy: float) -> None:
        """Look for mistakes where the energy that a search has found by its changes is not the solution's."""

    def broken(self, why: str, **_hints: Any) -> Exception:
        """Make the error of an answer that breaks the problem's own rules: a fault of its code."""
        return AssertionError(why)

    def drawing(self) -> Drawing[InstanceT] | None:
        """Import the problem's pictures, `drawing` of the module `plot` of its folder, if any."""
        return find_part(self, "plot", "drawing")

    def paper_set(self, size: int, count: int | None = None) -> Sequence[InstanceT]:
        """Make the first `count` instances of the paper's test set of a size.

        Raises
        ------
        UsageError
            If the paper has no such set.
        """
        raise UsageError(f"{self.name}: the paper has no test set of size {size}")

    def columns_of(self, instance: InstanceT) -> Mapping[str, Sequence[Any]]:
        """Give an instance's elements by the keys of `columns`, for a table.

        Raises
        ------
        UsageError
            If a table cannot hold the instance.
        """
        return instance.record()

    def start(self, name: str | None = None) -> Start:
        """Find a start by name, or the default one.

        Raises
        ------
        UsageError
            If there is none of that name.
        """
        if name is None:
            return next(iter(self.starts.values()))
        if name not in self.starts:
            known = ", ".join(self.starts)
            raise UsageError(f"{self.name} has no {name!r}; it has {known}, or give a file", option="init")
        return self.starts[name]


@dataclass(frozen=True)
class Task:
    """An instance with the problem it belongs to.

    Attributes
    ----------
    problem : Problem
    instance : Instance
    seconds : float
        What reading it took.
    stream : int
        Number of its random streams. 0 for all instances that a user solves, so that an answer depends on the
        instance and the seed alone; a benchmark numbers its instances, or their errors would not average out.
    file : str, optional
        Where it was read from.
    notes : tuple of str
        What was decided in reading it, and should be said.
    words : mapping of str to str
        The word of the file for each key.
    """

    problem: Problem[Any]
    instance: Instance
    seconds: float = 0.0
    stream: int = 0
    file: str | None = None
    notes: tuple[str, ...] = ()
    words: Mapping[str, str] = field(default_factory=dict)

    def remarks(self) -> list[str]:
        """List warnings about the data and their reading, one line each."""
        return [*self.notes, *self.instance.remarks()]
