"""Pictures and curves: the right type, the right content, whole or not at all."""

import csv
import math
from types import SimpleNamespace

import numpy as np
import pytest

from nsa_cli.anneal.chains import Progress
from nsa_cli.cli import plot
from nsa_cli.core.drawing import label_points, plain, title
from nsa_cli.core.errors import UsageError
from nsa_cli.problems import find_problem
from nsa_cli.report import plots
from nsa_cli.report.plots import Row, Trace

from helpers import random_instances, starts_of

pytest.importorskip("matplotlib")
from matplotlib import rc_context, rcParams
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

BEGINNINGS = {".png": b"\x89PNG\r\n\x1a\n", ".svg": b"<?xml", ".pdf": b"%PDF-"}


def drawn(problem, instance, solution, path=None):
    """A figure with a solution on it, laid out as for a file."""
    figure = plots.solution_picture(problem.drawing(), instance, solution, path)
    figure.draw_without_rendering()
    return figure


def axes_of(name, record, solution, path=None):
    """The panel with a solution of an instance's record."""
    problem = find_problem(name)
    return drawn(problem, problem.from_record(record), np.array(solution), path).axes[0]


def view_of(problem, name, size, steps):
    return plot._view(problem, name, size, steps, 0)


def solution_of(problem, instance):
    """The default start."""
    return starts_of(problem, [instance])[0].numpy()


def texts(axes):
    return [t.get_text() for t in axes.texts]


def dots(axes):
    """Number of points in each scatter plot."""
    return [len(c.get_offsets()) for c in axes.collections if len(c.get_offsets()) > 1]


@pytest.mark.parametrize("suffix", list(BEGINNINGS))
def test_a_file_is_of_the_type_that_its_name_says(tmp_path, suffix):
    """And the same each time: no date, no random ids."""
    problem = find_problem("tsp")
    (instance,) = random_instances(problem, 7, 1)
    paths = [tmp_path / (name + suffix) for name in ("one", "two")]
    for path in paths:
        solution = solution_of(problem, instance)
        plots.write_picture(plots.solution_picture(problem.drawing(), instance, solution), path)
    assert paths[0].read_bytes().startswith(BEGINNINGS[suffix])
    assert paths[0].read_bytes() == paths[1].read_bytes()


def test_a_picture_that_fails_leaves_all_as_it_was(tmp_path):
    """The old one, nothing temporary, and the user's own settings."""

    def draw(figure):
        figure.subplots()
        raise ZeroDivisionError

    path, before = tmp_path / "a.png", dict(rcParams)
    path.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), rc_context():
        plots.write_picture(plots.picture((3, 2), draw), path)
    assert path.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.png"]
    assert dict(rcParams) == before


@pytest.mark.parametrize("size", [1, 2, 100, 1000])
def test_every_problem_draws_every_size(problem, size):
    """Nothing leaves the canvas, and the title says what is seen."""
    (instance,) = random_instances(problem, max(size, 2) if problem.name == "rosenbrock" else size, 1)
    figure = drawn(problem, instance, solution_of(problem, instance))
    axes = figure.axes[0]
    assert axes.get_title("left")
    assert axes.get_xlabel()
    left, low, right, high = figure.get_tightbbox().extents * figure.dpi
    assert min(left, low) >= -1
    assert right <= figure.bbox.x1 + 1
    assert high <= figure.bbox.y1 + 1


def test_a_tour_is_a_closed_line_through_all_cities():
    """In the order of the visit, each city with its id; a dot and an arrow show the first and the way on."""
    problem = find_problem("tsp")
    (instance,) = random_instances(problem, 12, 1)
    tour = solution_of(problem, instance)
    axes = drawn(problem, instance, tour).axes[0]
    (line,) = axes.lines
    assert line.get_xydata().tolist() == instance.coords[np.append(tour, tour[0])].tolist()
    assert dots(axes) == [12]
    first = axes.collections[1]
    assert first.get_offsets().tolist() == [instance.coords[tour[0]].tolist()]
    (arrow,) = (text for text in axes.texts if not text.get_text())
    assert arrow.arrow_patch is not None
    assert arrow.xyann == tuple(instance.coords[tour[0]])
    assert set(texts(axes)) <= {"", *(str(i) for i in range(1, 13))}
    assert len(texts(axes)) >= 10


def test_a_map_of_the_globe_is_cut_where_nobody_lives():
    """Cities on both sides of 180 degrees are neighbours; degrees and minutes are degrees."""
    coords = [[10.30, 179.0], [11.0, -179.0], [12.0, -178.0], [9.0, 178.0]]
    (line,) = axes_of("tsp", {"coords": coords, "edge_weight_type": "GEO"}, range(4)).lines
    x, y = line.get_xydata().T
    assert np.ptp(x) == pytest.approx(4.0, abs=1e-3)
    assert y.min() == pytest.approx(9.0, abs=1e-3)
    assert np.isclose(y, 10.5, atol=1e-3).any()


def test_an_edge_around_the_globe_leaves_the_map_and_comes_in_again():
    """Where cities lie all around, an edge over the map's end is two, with a gap between."""
    coords = [[0.0, float(x)] for x in (-170, -100, -40, 20, 80, 140)]
    (line,) = axes_of("tsp", {"coords": coords, "edge_weight_type": "GEO"}, range(6)).lines
    assert np.isnan(line.get_xdata()).sum() == 1
    assert (np.abs(np.diff(line.get_xdata())) < 180).sum() == 7


@pytest.mark.parametrize(("metric", "unit"), [("great circle km", "km"), ("great circle m", "m")])
def test_cities_in_decimal_degrees_are_on_a_map(metric, unit):
    """As those of TSPLIB's GEO are: longitude to the right, and the length has its unit."""
    coords = [[48.85, 2.35], [52.52, 13.4], [41.9, 12.5], [40.4, -3.7]]
    axes = axes_of("tsp", {"coords": coords, "edge_weight_type": metric}, range(4))
    assert (axes.get_xlabel(), axes.get_ylabel()) == ("longitude", "latitude")
    assert f" {unit} through" in axes.get_title("left")
    low, high = axes.get_xlim()
    assert low < -3.7 < 13.4 < high


def test_a_matrix_is_drawn_in_the_plane_that_fits_it():
    """Distances on the map are those of the matrix, where a plane can hold them."""
    places = np.array([[0, 0], [3, 0], [3, 4], [0, 4]])
    matrix = np.hypot(*(places[:, None] - places).transpose(2, 0, 1))
    (line,) = axes_of("tsp", {"matrix": matrix.tolist()}, range(4)).lines
    x = line.get_xydata()[:4]
    found = np.hypot(*(x[:, None] - x).transpose(2, 0, 1))
    assert np.allclose(found / found.max(), matrix / matrix.max(), atol=1e-5)


def test_a_knapsack_shows_what_is_chosen_left_and_critical():
    """Every item once; the line has the ratio of the first item that does not fit."""
    record = {"values": [6, 10, 12, 1], "weights": [1, 2, 3, 5], "capacity": 5}
    axes = axes_of("knapsack", record, [False, True, True, False])
    assert dots(axes) == [2, 2]
    (line,) = axes.lines
    (_, (x, y)) = line.get_xydata()
    assert y / x == pytest.approx(4.0)
    assert not axes_of("knapsack", {"values": [6], "weights": [1], "capacity": 5}, [True]).lines


def test_bins_are_bars_of_their_items():
    """As many boxes as items, as long as their weights, none beyond the capacity."""
    record = {"weights": [4, 8, 1, 4, 2, 1], "capacity": 10, "names": list("abcdef")}
    axes = axes_of("bin", record, [0, 1, 0, 0, 1, 0])
    (boxes,) = axes.collections
    corners = [path.vertices[:, 0] for path in boxes.get_paths()]
    assert [np.ptp(x) for x in corners] == [4, 4, 1, 1, 8, 2]
    assert max(x.max() for x in corners) == 10
    assert texts(axes) == ["a", "d", "c", "f", "b", "e"]


def test_rosenbrocks_way_is_on_its_map():
    """From the start to the best point; without a way there is the point alone."""
    way = np.linspace([-1.0, 1.0], [1.0, 1.0], 30)
    axes = axes_of("rosenbrock", {"a": 1, "b": 100}, way[-1], way)
    assert 30 in dots(axes)
    assert axes.get_xlim()[0] < -1
    assert axes.get_xlim()[1] > 1
    assert len(axes_of("rosenbrock", {"a": 1, "b": 100}, way[-1]).lines) == 2


def test_a_run_has_three_panels_on_one_axis():
    """Objective, temperature, acceptance; the best known as a line."""
    rows = [Row(k, 0.1 * k, 0.5**k, 0.5, 10 - k, 9 - k, 9 - k) for k in range(9)]
    figure = plots.run_picture(rows, "name", ("best known", 0.5))
    top, middle, bottom = figure.axes
    assert [len(axes.lines) for axes in figure.axes] == [4, 1, 2]
    assert top.lines[2].get_ydata().tolist() == [9 - k for k in range(9)]
    assert middle.get_yscale() == "log"
    assert bottom.lines[0].get_ydata().tolist() == [50.0] * 9


def test_phases_are_named():
    """Over seconds where one takes no steps, every other one shaded; large steps have one panel."""
    phases = ["starts", "starts", "recombination", "chain", "chain"]
    rows = [Row(max(k - 2, 0), 0.1 * k, 0.5, 0.5, 9, 9, 9, phase) for k, phase in enumerate(phases)]
    figure = plots.run_picture(rows, None, None)
    (top,) = figure.axes
    assert texts(top) == ["starts", "recombination", "chain"]
    assert top.get_xlabel() == "seconds"
    assert len(top.patches) == 1


@pytest.mark.parametrize("features", ["paper", "relative"])
def test_what_a_policy_has_learnt_is_drawn_for_any_features(problem, features, tmp_path):
    """Of an untrained policy of each feature set there is."""
    from nsa_cli.core.operations import ContinuousOperations
    from nsa_cli.policy.checkpoint import save
    from nsa_cli.policy.gaussian import GaussianPolicy
    from nsa_cli.policy.slots import SlotPolicy

    operations = problem.neighbourhood("paper").operations()
    if isinstance(operations, ContinuousOperations):
        policy, size = GaussianPolicy(), 2
    elif features in operations.feature_sets:
        policy, size = SlotPolicy(operations.feature_sets[features].slots, features), 12
    else:
        pytest.skip(f"{problem.name} has no {features} features")
    save(tmp_path / "policy.json", policy, problem.name)
    view = view_of(problem, str(tmp_path / "policy.json"), size, 5)
    figure = plots.picture(problem.drawing().policy_shape, problem.drawing().policy, view)
    figure.draw_without_rendering()
    assert len([axes for axes in figure.axes if axes.get_xlabel() and axes.get_title("left")]) >= 2


@pytest.mark.parametrize(("size", "rooms"), [(2, {"0.25", "0.15"}), (50, {"1", "0.15"})])
def test_titles_tell_the_room_that_there_is(size, rooms):
    """Two items' knapsack holds a quarter, so no picture of it may speak of a free capacity of 1."""
    problem = find_problem("knapsack")
    figure = Figure()
    problem.drawing().policy(figure, view_of(problem, "knapsack-es-best", size, 5))
    titles = [axes.get_title() for axes in figure.axes]
    assert {text.rpartition(" ")[2] for text in titles if "capacity" in text} == rooms


def test_tsp_probabilities_are_those_of_the_policy():
    """They sum to one, and neither the first city nor its neighbours is a candidate for the second."""
    from nsa_cli.problems.tsp import plot as tsp_plot

    problem = find_problem("tsp")
    view = view_of(problem, "tsp-ppo-best", 15, 20)
    first, chosen, second = tsp_plot._probabilities(view, view.x[10, 0])
    assert first.sum() == pytest.approx(1)
    assert first[chosen] == first.max()
    assert np.nansum(second) == pytest.approx(1)
    assert set(np.flatnonzero(np.isnan(second))) == {(chosen + k) % 15 for k in (-1, 0, 1)}


@pytest.mark.parametrize("room", [1.0, 0.15])
def test_knapsack_probes_see_what_the_picture_says(room):
    """Of every weight and value, in both states: room decides what may be flipped, and nothing else."""
    from nsa_cli.problems.knapsack import plot as knapsack_plot

    view, grid = view_of(find_problem("knapsack"), "knapsack-es-best", 50, 5), np.linspace(0.01, 0.99, 9)
    seen = []
    view = view._replace(policy=SimpleNamespace(logits=lambda *given: seen.append(given) or _zeros(given)))
    logits, allowed = knapsack_plot._logits(view, grid, True, room)
    (operations, batch, x, _, temperature), (weight, value) = seen[0], np.meshgrid(grid, grid)
    features = operations.feature_sets["relative"].compute(batch, x, (), temperature)[:, 0].numpy()
    expected = [
        np.ones(81),
        weight.ravel(),
        value.ravel(),
        np.log(value / weight).clip(-4, 4).ravel(),
        np.full(81, room),
    ]
    assert features[:, :5] == pytest.approx(np.stack(expected, 1), abs=1e-3)
    assert (logits == 0).all()
    assert allowed.all()  # what is taken may be left
    _, allowed = knapsack_plot._logits(view, grid, False, room)
    assert (allowed == (weight <= room)).all()


def _zeros(given):
    import torch

    return torch.zeros(given[2].shape)


def test_bin_probes_cover_the_states_that_there_are():
    """An item and the space beside it fit one bin; a bin takes what it has room for."""
    from nsa_cli.problems.bin import plot as bin_plot

    grid = np.round(np.linspace(0.01, 0.99, 15), 4)
    item, target = bin_plot._logits(view_of(find_problem("bin"), "bin-es-best", 10, 5), grid)
    weight, free = np.meshgrid(grid, grid)
    assert (np.isfinite(item) == (weight + free <= 1 + 1e-9)).all()
    assert (np.isfinite(target) == (weight <= free)).all()


def test_labels_never_cover_each_other():
    """Of a crowd of cities only some are named."""
    figure = Figure()
    axes = figure.subplots()
    points = np.random.default_rng(0).random((60, 2)) * 0.2
    axes.set(xlim=(-0.1, 1), ylim=(-0.1, 1))
    written = label_points(axes, points, [f"city {i}" for i in range(60)], avoid=np.zeros((0, 2)))
    assert 5 < written < 60
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [t.get_window_extent(renderer) for t in axes.texts]
    assert len(boxes) == written
    for i, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[i + 1 :])


def test_a_dollar_sign_begins_no_formula():
    """Names are a user's, whatever is in them; long ones are cut."""
    assert plain("$a_{$") == r"\$a_{\$"
    assert title("x" * 100, "tour") == "x" * 39 + "…: tour"
    assert title(None, "tour") == "Tour"


def test_names_with_formulas_and_foreign_scripts_are_drawn(tmp_path, capfd):
    """And nothing is said about a font; a problem without a drawing says so."""
    record = {"coords": [[0, 0], [0, 1], [1, 0]], "ids": ["$x_{$", "日本", "c"], "name": "$\\frac{"}
    problem = find_problem("tsp")
    figure = plots.solution_picture(problem.drawing(), problem.from_record(record), np.arange(3))
    plots.write_picture(figure, tmp_path / "named.png")
    assert capfd.readouterr().err == ""
    with pytest.raises(UsageError, match="no picture of maxcut"):
        plots.need_drawing(find_problem("examples/maxcut.py:MaxCut").drawing(), "maxcut")


def progress(step, accepted, best=-3.0, x=None):
    """A moment of a run of a thousand steps."""
    share = accepted / step if step else 0.0
    return Progress(step, 1000, 0.5, share, best, mean=-1.0, lowest=-2.0, chains=SimpleNamespace(x=x))


def test_acceptance_is_that_since_the_row_before():
    """Not that of the whole run, which a cold end would not show in."""
    trace = Trace("min")
    for step, accepted in ((0, 0), (10, 10), (20, 10), (40, 15)):
        trace(progress(step, accepted))
    rows = trace.rows()
    assert [row.step for row in rows] == [0, 10, 20, 40]
    assert math.isnan(rows[0].acceptance)
    assert [row.acceptance for row in rows[1:]] == pytest.approx([1.0, 0.0, 0.25])


@pytest.mark.parametrize(("sense", "sign"), [("min", 1), ("max", -1)])
def test_energies_are_told_in_the_problems_sense(sense, sign):
    """A knapsack's value is no negative number."""
    trace = Trace(sense)
    trace(progress(0, 0))
    (row,) = trace.rows()
    assert (row.mean, row.current_best, row.best) == (sign * -1.0, sign * -2.0, sign * -3.0)


@pytest.mark.parametrize("count", [1, 2, 100, 101, 102, 201, 205, 4321])
def test_a_long_run_has_few_rows_and_keeps_its_ends(count):
    """Rows that are left out take no accepted moves with them."""
    trace = Trace("min", rows=100)
    for step in range(count):
        trace(progress(step, step // 2))
    rows = trace.rows()
    assert rows[0].step == 0
    assert rows[-1].step == count - 1
    assert len(rows) <= 102
    assert len(rows) >= min(count, 50)
    steps = np.array([row.step for row in rows])
    assert (np.diff(steps) > 0).all()
    accepted = sum(row.acceptance * gap for row, gap in zip(rows[1:], np.diff(steps), strict=True))
    assert accepted == pytest.approx((count - 1) // 2, abs=1e-6)


def test_a_curve_is_a_table(tmp_path):
    """What is unknown is empty, and nothing else lies beside the file."""
    trace = Trace("min")
    for step in (0, 7, 20):
        trace(progress(step, step / 2))
    path = tmp_path / "run.csv"
    trace.write(path)
    lines = path.read_text().splitlines()
    assert lines[0] == ",".join(Row._fields)
    assert lines[1].split(",")[3] == ""
    rows = list(csv.DictReader(lines))
    assert [row["step"] for row in rows] == ["0", "7", "20"]
    assert [float(row["acceptance"]) for row in rows[1:]] == [0.5, 0.5]
    assert [p.name for p in tmp_path.iterdir()] == ["run.csv"]


def test_the_way_is_that_of_the_chain_that_found_the_solution():
    """Among all chains, the one that came nearest."""
    trace = Trace("min", follow=True)
    for step in range(5):
        trace(progress(step, 0, x=np.array([[9.0, 9.0], [float(step), 0.0]])))
    way = trace.path(np.array([4.0, 0.0]))
    assert way.tolist() == [[0, 0], [1, 0], [2, 0], [3, 0], [4, 0]]
    assert Trace("min").path(np.array([4.0, 0.0])) is None
