"""Random numbers that are functions of (seed, stream, step, draw)."""

import numpy as np
import torch
from scipy.stats import chisquare, kstest

from nsa_cli.core.draws import START, stream_keys, uniforms, uniforms_torch


def test_numpy_and_torch_draw_the_same_numbers():
    """One arithmetic serves both libraries, bit for bit."""
    keys = stream_keys(7, np.arange(5))
    block = uniforms_torch(torch.from_numpy(keys), 3, 6, 4).numpy()
    for k in range(3, 6):
        np.testing.assert_array_equal(block[k - 3], uniforms(keys, k, 4))


def test_a_draw_does_not_depend_on_what_is_drawn_beside_it():
    """Splitting steps, draws and streams changes no number."""
    keys = torch.from_numpy(stream_keys(1, np.arange(8)))
    whole = uniforms_torch(keys, 0, 10, 3)
    assert torch.equal(whole[4:7], uniforms_torch(keys, 4, 7, 3))
    assert torch.equal(whole[:, :2], uniforms_torch(keys, 0, 10, 2))
    assert torch.equal(whole[:, :, 5:6], uniforms_torch(keys[5:6], 0, 10, 3))


def test_seeds_streams_steps_and_draws_all_matter():
    """No two of neighbouring counters give the same number."""
    numbers = [
        uniforms_torch(torch.from_numpy(stream_keys(seed, np.arange(20))), START, 20, 5).flatten()
        for seed in range(20)
    ]
    everything = torch.cat(numbers)
    assert len(everything.unique()) == len(everything)


def test_numbers_are_inside_the_open_unit_interval():
    """Neither 0 nor 1 comes out, whatever the bits."""
    from nsa_cli.core.draws import to_unit_interval

    extremes = to_unit_interval(np.array([0, -1, 2**63 - 1, -(2**63)]))
    assert (extremes > 0).all()
    assert (extremes < 1).all()


def test_numbers_are_uniform_along_every_axis():
    """Kolmogorov-Smirnov along steps, draws and streams, and pairs of neighbours on a grid."""
    keys = torch.from_numpy(stream_keys(2026, np.arange(200)))
    block = uniforms_torch(keys, 0, 200, 5).numpy()
    for line in (block[:, 0, 0], block[0, 0, :], block[:, 3, 17], block.ravel()):
        assert kstest(line, "uniform").pvalue > 1e-3
    for first, second in (
        (block[:-1], block[1:]),
        (block[:, :-1], block[:, 1:]),
        (block[:, :, :-1], block[:, :, 1:]),
    ):
        cells = (first * 8).astype(int) * 8 + (second * 8).astype(int)
        assert chisquare(np.bincount(cells.ravel(), minlength=64)).pvalue > 1e-3
