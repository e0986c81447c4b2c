"""Choosing candidates by weight, softmax and maximum."""

import torch

from nsa_cli.policy.slots import by_maximum, by_softmax, by_weight, log_softmax

N = 20_000


def grid():
    """Evenly spread uniform numbers: counts must then match probabilities nearly exactly."""
    return (torch.arange(N, dtype=torch.float64) + 0.5) / N


def test_softmax_chooses_in_proportion_among_the_allowed():
    """Frequencies on an even grid are the probabilities."""
    logits = torch.tensor([[0.0, 2.0, -1.0, 1.0, 5.0]]).expand(N, -1)
    allowed = torch.tensor([[True, True, True, True, False]]).expand(N, -1)
    choice = by_softmax(logits, allowed, grid())
    counts = torch.bincount(choice.candidate, minlength=5).double() / N
    expected = torch.softmax(torch.tensor([0.0, 2.0, -1.0, 1.0, -torch.inf]).double(), 0)
    torch.testing.assert_close(counts, expected, atol=2e-4, rtol=0)
    assert choice.possible.all()


def test_log_softmax_is_the_log_of_the_frequency():
    """Probabilities sum to one over the allowed, and are zero for the others."""
    logits = torch.randn(1, 6, generator=torch.Generator().manual_seed(0)).expand(6, -1)
    allowed = torch.tensor([[True, False, True, True, False, True]]).expand(6, -1)
    probabilities = log_softmax(logits, allowed, torch.arange(6)).exp()
    assert probabilities[~allowed[0]].eq(0).all()
    torch.testing.assert_close(probabilities.sum(), torch.tensor(1.0, dtype=torch.float64))


def test_rows_without_candidates_are_not_possible():
    """And do not disturb their neighbours."""
    logits = torch.zeros(2, 3)
    allowed = torch.tensor([[False] * 3, [False, True, False]])
    u = torch.tensor([0.5, 0.5], dtype=torch.float64)
    for choice in (by_softmax(logits, allowed, u), by_maximum(logits, allowed)):
        assert choice.possible.tolist() == [False, True]
        assert choice.candidate[1] == 1
        assert 0 <= choice.candidate[0] < 3


def test_extreme_numbers_never_choose_what_is_not_allowed():
    """The ends of the unit interval and huge logits stay inside the allowed candidates."""
    allowed = torch.tensor([[False, True, False, True, False]]).expand(2, -1)
    ends = torch.tensor([2.0**-53, 1 - 2.0**-53], dtype=torch.float64)
    for scale in (0.0, 1e4, -1e4):
        logits = torch.tensor([[9.0, 1.0, 9.0, 2.0, 9.0]]).expand(2, -1) * scale
        assert set(by_softmax(logits, allowed, ends).candidate.tolist()) <= {1, 3}
    assert by_weight(allowed.double(), ends).candidate.tolist() == [1, 3]


def test_maximum_takes_the_first_of_equals():
    """Greedy proposals are deterministic."""
    logits = torch.tensor([[1.0, 3.0, 3.0, 9.0]])
    allowed = torch.tensor([[True, True, True, False]])
    assert by_maximum(logits, allowed).candidate.tolist() == [1]
