"""The Python functions: data in memory, one function a problem, results, interrupts, threads."""

from __future__ import annotations

import contextlib
import inspect
import itertools
import json
import math
import os
import pickle
import re
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy.sparse import csr_array

import nsa_cli as nsa
from nsa_cli.core.record import Reading, ReadingOptions
from nsa_cli.solver.interrupt import interruptible
from nsa_cli.solver.settings import RunOptions, SettingOptions, Settings, SolveOptions
from nsa_cli.user import UserProblem, flip, subset

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
RNG = np.random.default_rng(5)
XY = RNG.random((25, 2))
FAST = {"steps": 50, "seed": 1}


# --- data in memory


@pytest.mark.parametrize(
    "data",
    [
        {"problem": "tsp", "coords": XY},
        {"x": XY[:, 0], "y": tuple(XY[:, 1])},
        {"coords": torch.from_numpy(XY)},
        {"coords": [row for row in XY]},  # noqa: C416
        XY,
        XY.tolist(),
    ],
    ids=["array", "columns", "tensor", "rows", "bare array", "bare lists"],
)
def test_whatever_form_data_have_the_answer_is_that_of_the_file(data, tmp_path):
    """Arrays, lists and tensors are the JSON file that says the same."""
    path = tmp_path / "same.json"
    path.write_text(json.dumps({"problem": "tsp", "coords": XY.tolist()}))
    expected = nsa.solve(path, **FAST)
    result = nsa.solve(data, **FAST)
    assert (result.objective, result.solution.tolist()) == (expected.objective, expected.solution.tolist())
    assert result.ids == result.solution.tolist()


DEGREES = {"lat": [48.0, 49, 50, 51], "lon": [8.0, 9, 8, 10]}
PLACES = {"Customer": list("abcd"), **DEGREES}


def frame(data, **options):
    return pytest.importorskip("pandas").DataFrame(data, **options)


@pytest.mark.parametrize(
    ("make", "ids"),
    [
        (lambda: frame(PLACES), list("abdc")),
        (lambda: frame(PLACES).set_index("Customer"), list("abdc")),
        (lambda: frame(DEGREES), [0, 1, 3, 2]),
        (lambda: frame(DEGREES, index=[7, 5, 3, 4]), [7, 5, 4, 3]),
        (lambda: PLACES, list("abdc")),
        (
            lambda: [dict(zip(PLACES, row, strict=True)) for row in zip(*PLACES.values(), strict=True)],
            list("abdc"),
        ),
        (lambda: [[*PLACES], *zip(*PLACES.values(), strict=True)], list("abdc")),
        (
            lambda: np.array(
                list(zip(*PLACES.values(), strict=True)),
                dtype=[("Customer", "U9"), ("lat", float), ("lon", float)],
            ),
            list("abdc"),
        ),
    ],
    ids=["frame", "index", "range", "numbers", "columns", "objects", "rows", "structured"],
)
def test_tables_are_read_as_files_are(make, ids):
    """Degrees are degrees, and what an index or a column of text calls places are their names."""
    data = make()
    results = [nsa.solve(data, seed=1)] + ([] if isinstance(data, dict | list) else [nsa.tsp(data, seed=1)])
    for result in results:
        assert result.objective == pytest.approx(769.284, abs=0.001)
        assert (result.ids, result.solution.tolist()) == (ids, [0, 1, 3, 2])


def test_a_frame_of_items_and_a_frame_of_distances():
    items = frame({"sku": ["x", "y", "z"], "weight": [1, 2, 3.5], "value": [3, 4, 5]})
    assert nsa.solve(items, data={"capacity": 4}, seed=1).ids == ["x", "y"]
    lengths = [[0, 1, 2, 9], [1, 0, 3, 4], [2, 3, 0, 5], [9, 4, 5, 0]]
    square = frame(lengths, index=list("abcd"), columns=list("abcd"))
    assert nsa.solve(square, seed=1).ids == list("abdc")
    assert nsa.tsp(matrix=square, seed=1).ids == list("abdc")


def test_a_result_is_a_frame():
    table = nsa.tsp(frame(PLACES), depot="c", seed=1).to_dataframe()
    assert table["id"].tolist() == list("cabd")
    assert table["length_to_next"].sum() == pytest.approx(769.284, abs=0.001)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: nsa.solve(frame(PLACES).assign(demand=[1, 2, 3, 4])),
            r"data:1: 'demand' .* ignore='demand'",
        ),
        (lambda: nsa.solve(frame(PLACES).set_index(["lat", "lon"])), r"several levels; use reset_index\(\)"),
        (lambda: nsa.solve(frame({"x": ["a", 1], "y": [2, 3]})), "data:1: x: expected a number, got 'a'"),
        (lambda: nsa.tsp(frame({"x": [1, None], "y": [2, 3]})), "data:2: x: .*got an empty cell"),
        (lambda: nsa.solve(frame([[1, 2]], columns=["x", "x"])), "two columns have one name"),
        (lambda: nsa.tsp(np.ones((5, 5))), "a square of 5 x 5; if these are distances, give them as matrix"),
        (
            lambda: nsa.tsp(networkx().path_graph(4)),
            r"got a graph; give nx.to_numpy_array\(G, nonedge=math.inf",
        ),
        (lambda: nsa.solve(networkx().path_graph(4)), r"data: expected an array, got a graph"),
    ],
)
def test_what_is_no_table_is_refused_in_a_line(call, message):
    with pytest.raises(nsa.NsaError, match=message):
        call()


def networkx():
    return pytest.importorskip("networkx")


def test_keys_beside_data_and_files(tmp_path):
    """As with --set."""
    data = {"values": [1, 2], "weights": [3, 4]}
    assert nsa.solve(data, data={"capacity": np.int64(4)}).objective == 2
    (tmp_path / "a.csv").write_text("value,weight\n1,3\n2,4\n")
    assert nsa.solve(tmp_path / "a.csv", data={"capacity": 3}).objective == 1


SPACE = [[0, 0, 0], [9, 1, 2], [8, 7, 1], [1, 6, 5], [4, 4, 9], [7, 2, 8], [2, 9, 3]]


@pytest.mark.parametrize("count", [2, 3, 7])
def test_points_in_space_are_solved(count):
    """Rows of three without a metric, of any number of points."""
    points = np.array(SPACE[:count]) + 0.5
    tours = [(0, *order) for order in itertools.permutations(range(1, count))]
    best = min(sum(math.dist(points[t[i - 1]], points[t[i]]) for i in range(count)) for t in tours)
    for result in (nsa.tsp(points, seed=1), nsa.solve(points.tolist(), seed=1)):
        assert result.objective == pytest.approx(best)


class Signs(UserProblem):
    name = "signs"
    keys = ("weights",)
    solution = subset("weights")
    moves = (flip,)

    def cost(data, x):
        total = 0
        for i in range(len(x)):
            total += data.weights[i] * x[i] * SIGN
        return total


SIGN = -1


def test_a_class_is_a_problem(monkeypatch):
    """As FILE.py:CLASS is; what it looks up may change between two runs of a process."""
    data = {"weights": [3, 5, 7]}
    assert nsa.solve(data, problem=Signs, **FAST).objective == -15
    monkeypatch.setitem(globals(), "SIGN", 1)
    assert nsa.solve(data, problem=Signs, **FAST).objective == 0


def test_a_file_that_is_edited_is_loaded_anew(tmp_path):
    """With what lies beside it; a notebook goes on while its author edits."""
    source = inspect.getsource(Signs).replace("SIGN", "beside.SIGN")
    text = "import beside\nfrom nsa_cli.user import UserProblem, flip, subset\n" + source
    (tmp_path / "mine.py").write_text(text)
    for sign, objective in ((-1, -15), (1, 0)):
        (tmp_path / "beside.py").write_text(f"SIGN = {sign}\n")
        found = nsa.solve(
            {"weights": [3, 5, 7]}, problem=f"{tmp_path / 'mine.py'}:Signs", backend="python", **FAST
        )
        assert found.objective == objective


NAN = [[0, 0], [1, float("nan")]]
SPARSE = csr_array(np.ones((3, 3)))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nsa.solve({"coords": NAN}), "coords, element 2: expected a finite number, got nan"),
        (lambda: nsa.tsp([["a", 48.0, 8.0], ["b", 49.0, 9.0]]), "got 'a'; give names apart, as names"),
        (lambda: nsa.tsp([["a", 48.0], ["b", 49.0]]), "got 'a'; give names apart, as names"),
        (lambda: nsa.tsp(matrix=SPARSE), "matrix: expected an array, got a sparse matrix"),
        (lambda: nsa.solve(SPARSE), "data: expected an array, got a sparse matrix"),
        (lambda: nsa.solve(XY, problem=XY), "expected a subclass of nsa_cli.UserProblem, got ndarray"),
        (lambda: nsa.tsp("abc"), "coords: expected a list, got 'abc'"),
        (lambda: nsa.tsp(np.zeros((0, 2))), "coords: expected at least one element, got none"),
        (lambda: nsa.tsp(), "expected either coords or matrix, got neither"),
        (lambda: nsa.tsp(XY, names=["a"]), "names: expected 25 of them, got 1"),
        (lambda: nsa.tsp(XY, from_city=25), "from: there is no city 25 in the instance, which has 0 to 24"),
        (lambda: nsa.knapsack({1, 2}, [1, 2], 5), "values: expected a list, got {1, 2}"),
        (lambda: nsa.bin_packing([1, 9], 5), "item 1 does not fit any bin: weight 9 > capacity 5"),
        (lambda: nsa.rosenbrock(b=-1), "b: expected a number >= 0, got -1"),
        (lambda: nsa.solve({"values": [1], "weights": [1]}), "capacity is missing; use capacity"),
        (lambda: nsa.solve({1: 2}), "data: expected names as keys, got 1"),
        (lambda: nsa.solve(5), "expected a file, data or an instance, got 5"),
        (lambda: nsa.solve({"coords": XY}, columns="x,y"), "is data in memory, which has no columns"),
        (lambda: nsa.solve(RNG.random((3, 4, 2))), "data: expected one instance, got 3; solve each"),
        (lambda: nsa.tsp(np.ma.masked_greater(XY, 0.9)), "expected a number, got None"),
    ],
)
def test_wrong_data_are_an_error_of_one_line_that_names_the_key(call, message):
    """And no file."""
    with pytest.raises(nsa.NsaError) as caught:
        call()
    text = str(caught.value)
    assert message in text
    assert (text[0] == ":", "\n" in text) == (False, False)


def test_of_several_the_one_at_fault_is_named():
    """By its place in the list, and the key."""
    with pytest.raises(nsa.InputError) as caught:
        nsa.solve_many([{"coords": XY}, XY, {"coords": NAN}])
    assert str(caught.value) == "instances[2]: coords, element 2: expected a finite number, got nan"
    for one in ("a.tsp", {"coords": XY}, 5, nsa.generate("tsp", 5)[0]):
        with pytest.raises(nsa.UsageError, match="expected a list of instances, got "):
            nsa.solve_many(one)
    results = nsa.solve_many([{"coords": XY}, XY, EXAMPLES / "packing.csv"], **FAST)
    assert results[0].ids == results[1].ids
    assert [r.problem for r in results] == ["tsp", "tsp", "knapsack"]


# --- options


def test_a_misspelt_option_is_refused_with_the_nearest():
    """By every function that has options; nothing inside sees it."""
    for call in (
        lambda **o: nsa.solve({"coords": XY}, **o),
        lambda **o: nsa.solve_many([{"coords": XY}], **o),
        lambda **o: nsa.tsp(XY, **o),
        lambda **o: nsa.knapsack([1], [1], 1, **o),
        lambda **o: nsa.bin_packing([1], 1, **o),
        lambda **o: nsa.rosenbrock(**o),
    ):
        with pytest.raises(nsa.UsageError, match="has no argument 'time_limt'; the nearest is time_limit"):
            call(time_limt=3)
    with pytest.raises(nsa.UsageError, match="the nearest is decimal"):
        nsa.read(EXAMPLES / "packing.csv", decimals=",")
    with pytest.raises(nsa.UsageError, match=r"has no argument 'zzz'; it has .*, chains, "):
        nsa.tsp(XY, zzz=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"greedy": "no"}, "greedy: expected True or False, got 'no'"),
        ({"bound": None}, "bound: expected True or False, got None"),
        ({"unit": "x"}, "unit: expected a number, got 'x'"),
        ({"on_progress": 5}, "on_progress: expected a function, got 5"),
        ({"data": 5}, "data: expected keys with their values, got 5"),
        ({"init": "/nowhere"}, "init: tsp has no '/nowhere'"),
    ],
)
def test_a_wrong_value_is_refused_by_the_options_name(options, message):
    """Nothing is guessed."""
    with pytest.raises(nsa.UsageError, match=f"^{message}"):
        nsa.solve({"coords": XY}, **options)


def test_what_an_instance_has_no_use_for_is_refused():
    """An option that would be left out in silence."""
    task = nsa.generate("tsp", 5)[0]
    with pytest.raises(nsa.UsageError, match="decimal: is for files and data, got an instance"):
        nsa.solve(task, decimal=",")
    with pytest.raises(nsa.UsageError, match="expected a task of bin, got one of tsp"):
        nsa.solve(task, "bin")


def test_keyword_types_say_what_there_is():
    """Keywords are the fields of the settings, and what completion shows is all of them."""
    assert set(SettingOptions.__annotations__) == set(Settings.__dataclass_fields__)
    assert set(ReadingOptions.__annotations__) == set(Reading.__dataclass_fields__)
    shown = set(inspect.signature(nsa.solve).parameters)
    assert shown == {"instance", "problem", *SolveOptions.__annotations__}
    assert set(RunOptions.__annotations__) < set(inspect.signature(nsa.tsp).parameters)
    assert inspect.signature(nsa.tsp).parameters["bound"].default is True


def test_completion_and_the_stub_know_every_name():
    """``nsa.<TAB>``, and what type checkers read."""
    from build_stub import stub

    names = {"solve", "tsp", "knapsack", "bin_packing", "rosenbrock", "Result", "UsageError"}
    assert names | set(nsa.__all__) < set(dir(nsa))
    text = (ROOT / "src" / "nsa_cli" / "__init__.pyi").read_text()
    assert text == stub(), "run python build_stub.py"
    assert all(f" as {name}\n" in text for name in dir(nsa) if name != "__version__")
    with pytest.raises(AttributeError, match="no attribute 'slove'"):
        _ = nsa.slove


# --- results


def test_solutions_are_in_terms_of_the_arrays():
    """Cities in their order, chosen items, the bin of each item: positions from 0, and ids are the same."""
    tour = nsa.tsp(XY, **FAST)
    length = np.linalg.norm(XY[tour.solution] - XY[np.roll(tour.solution, -1)], axis=1).sum()
    assert length == pytest.approx(tour.objective, rel=1e-12)
    assert tour.ids == tour.solution.tolist() == tour.to_dict()["solution"]
    values, weights = RNG.integers(1, 50, 30), RNG.integers(1, 50, 30)
    packed = nsa.knapsack(values, weights, 200, seed=1)
    assert values[packed.solution].sum() == packed.objective == packed.bound.value
    assert weights[packed.solution].sum() <= 200
    assert (packed.status, packed.gap) == ("optimal", 0)
    bins = nsa.bin_packing(weights, 60, seed=1)
    assert np.bincount(bins.solution, weights).max() <= 60
    assert len(set(bins.solution.tolist())) == bins.objective == max(bins.solution) + 1
    point = nsa.rosenbrock(steps=100, seed=1)
    assert point.instance.objective(point.solution) == point.objective


def test_paths_matrices_and_names():
    """What a tour may be in files it may be in Python."""
    lengths = np.linalg.norm(XY[:, None] - XY, axis=2)
    path = nsa.tsp(matrix=lengths, from_city=3, to_city=7, seed=1)
    assert (path.solution[0], path.solution[-1]) == (3, 7)
    assert nsa.tsp(matrix=lengths, open_path=True, seed=1).objective <= path.objective
    named = nsa.tsp(XY[:4], names=["a", "b", "c", "d"], **FAST)
    assert sorted(named.ids) == ["a", "b", "c", "d"]
    assert [["a", "b", "c", "d"][i] for i in named.solution] == named.ids


@pytest.mark.parametrize("name", ["capitals.csv", "packing.csv", "cutting.json", "valley.json"])
def test_a_solution_is_a_start(name):
    """In the form in which results have it, of every problem."""
    first = nsa.solve(EXAMPLES / name, bound=False, **FAST)
    again = nsa.solve(EXAMPLES / name, init=first.solution, bound=False, steps=1, seed=2)
    assert again.start == "given"
    assert (again.objective - first.objective) * (1 if again.sense == "max" else -1) >= 0


SACK, BINS = {"values": [1, 2], "weights": [1, 2], "capacity": 2}, {"sizes": [3, 3], "capacity": 5}


@pytest.mark.parametrize(
    ("data", "init", "message"),
    [
        (XY, [0, 1], "the tour has 2 cities, expected 25"),
        (XY, np.zeros(25), "city 1 is not in the tour"),
        (XY, np.arange(25) + 0.5, "element 1: expected a position from 0 to 24, got 0.5"),
        (XY, [*range(24), 99], "element 25: expected a position from 0 to 24, got 99"),
        (XY, [[0, 1], [2]], "expected an array of numbers"),
        (SACK, [0, 1], "exceeds the capacity"),
        (SACK, [0, 0], "an item occurs twice"),
        (BINS, [7, 7], "more than the capacity"),
        (BINS, [0.5, 1], "expected the bin of each of 2 items"),
        ({"a": 1, "b": 2}, [1.0], "expected a point of 2 coordinates"),
    ],
)
def test_a_wrong_start_is_refused(data, init, message):
    """Before anything is computed."""
    with pytest.raises(nsa.NsaError, match=message):
        nsa.solve(data, init=init)


def test_repr_is_short_and_plain():
    """One line, however large the instance."""
    result = nsa.tsp(RNG.random((500, 2)), name="many", steps=10, seed=1)
    assert repr(result).startswith("Result(problem=tsp, name=many, n=500, objective=")
    assert len(repr(result)) < 160
    assert max(len(repr(result.instance)), len(repr(result.bound))) < 80
    assert pickle.loads(pickle.dumps(result)).objective == result.objective


def test_a_notebook_shows_a_table_and_the_picture(monkeypatch):
    """Names are no markup; without matplotlib the table alone."""
    result = nsa.tsp(XY, name="<b>", **FAST)
    page = result._repr_html_()
    assert ("&lt;b&gt;" in page, "<img" in page) == (True, True)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    page = result._repr_html_()
    assert ("<table>" in page, "<img" in page) == (True, False)


def test_plot_gives_a_figure_and_writes_it(tmp_path):
    """A notebook shows the figure without pyplot."""
    result = nsa.bin_packing([6, 5, 4, 5], 10)
    figure = result.plot(tmp_path / "bins.svg")
    assert (tmp_path / "bins.svg").read_text().startswith("<?xml")
    assert figure._repr_png_().startswith(b"\x89PNG")
    with pytest.raises(nsa.UsageError, match="path: expected a file name that ends in"):
        result.plot(tmp_path / "bins.doc")


# --- running


@pytest.fixture
def handler():
    """Set what Ctrl-C does; Python's own way, to begin with."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield lambda other: signal.signal(signal.SIGINT, other)
    signal.signal(signal.SIGINT, before)


def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)


def test_nothing_is_printed_and_no_handler_stays(capfd, handler):
    """Progress only if asked for, and then to a terminal or a notebook."""
    nsa.tsp(XY, **FAST)
    nsa.tsp(XY, progress=True, **FAST)
    assert capfd.readouterr() == ("", "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_progress_calls_a_function():
    """As often as it likes, with what is known."""
    seen = []
    nsa.tsp(XY, on_progress=seen.append, progress=True, **FAST)
    assert seen[-1].step == 50


def test_eight_threads_give_the_answers_of_one():
    """Solves share nothing, and leave signals to the main thread."""
    instances = [nsa.generate(name, 20, seed=3)[0] for name in ("tsp", "knapsack", "bin")] * 8
    options = {"seed": 4, "steps": 200, "bound": False, "threads": 1}
    alone = [nsa.solve(instance, **options).ids for instance in instances]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda instance: nsa.solve(instance, **options).ids, instances))
    assert together == alone


def test_ctrl_c_gives_the_best_so_far(handler):
    """In the main thread, as on the command line; afterwards it is Python's again."""
    result = nsa.tsp(XY, time_limit=60, seed=1, bound=False, on_progress=interrupt)
    assert (result.status, sorted(result.ids)) == ("interrupted", list(range(25)))
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_second_ctrl_c_is_pythons(handler):
    """Whatever the search is doing."""
    with interruptible() as asked:
        interrupt()
        assert asked()
        with pytest.raises(KeyboardInterrupt):
            interrupt()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_handler_of_somebody_else_stays(handler):
    """An event loop, say, has plans of its own."""
    calls = []
    handler(lambda *_: calls.append(1))
    nsa.tsp(XY, on_progress=lambda _: calls or interrupt(), **FAST)
    assert calls


def test_a_terminal_shows_a_bar_that_fits_and_goes():
    """On standard error, within the terminal's columns, and erased in the end."""
    pty = pytest.importorskip("pty")
    options = "steps=10**9, time_limit=1.5, seed=1, progress=True, bound=False"
    code = f"import nsa_cli as nsa; nsa.rosenbrock({options})"
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "70", "LINES": "20"}
    with subprocess.Popen([sys.executable, "-c", code], stderr=theirs, env=environment) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how the end of a terminal is told
            while some := os.read(ours, 65536):
                shown += some
        os.close(ours)
        assert process.wait(120) == 0
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in shown.decode().split("\r")]
    assert any("best" in line for line in lines)
    assert max(len(line.strip("\n")) for line in lines) <= 70
    assert shown.rstrip().endswith(b"\x1b[2K")


def test_a_notebook_shows_a_bar_without_widgets(monkeypatch):
    """Updated in place, and emptied in the end."""
    shown = []
    handle = SimpleNamespace(update=shown.append)
    display = SimpleNamespace(HTML=str, display=lambda page, display_id: handle)
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(display=display))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    nsa.rosenbrock(steps=10**9, time_limit=1.5, seed=1, progress=True, bound=False)
    assert any(page.startswith('<progress value="') and "best" in page for page in shown)
    assert shown[-1] == ""
