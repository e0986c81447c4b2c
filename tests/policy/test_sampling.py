"""Choosing candidates by weight, softmax and maximum, at the edges; see test_policies for the rest."""

import torch

from nsa_cli.policy.slots import by_maximum, by_softmax, by_weight


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
