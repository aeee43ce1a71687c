"""Marking with NaN finds whoever an output depends on: compared with moving the inputs themselves."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from dpcheck.training.torch.owners import filled, reduced, traced  # noqa: E402
from dpcheck.training.torch.products import SMOOTH  # noqa: E402

N, A = 3, torch.ops.aten


def rows(*shape):
    return torch.randn(N, *shape, generator=torch.Generator().manual_seed(len(shape)))


CASES = {
    "mm": lambda x: A.mm(x, torch.ones(4, 5)),
    "bmm": lambda x: A.bmm(x.unsqueeze(2), x.unsqueeze(1)),
    "_softmax": lambda x: A._softmax(x, 1, False),
    "_log_softmax": lambda x: A._log_softmax(x, 1, False),
    "_softmax across": lambda x: A._softmax(x, 0, False),
    "_softmax_backward_data": lambda x: A._softmax_backward_data(x, x, 1, torch.float32),
    "_log_softmax_backward_data": lambda x: A._log_softmax_backward_data(x, x, 1, torch.float32),
    "native_layer_norm": lambda x: A.native_layer_norm(x, [4], None, None, 1e-5)[0],
    "native_group_norm": lambda x: A.native_group_norm(
        x.reshape(N, 2, 2), None, None, N, 2, 2, 1, 1e-5
    )[0],
    "native_batch_norm": lambda x: A.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5)[
        0
    ],
    "convolution": lambda x: A.convolution(
        x.reshape(N, 1, 4), torch.ones(2, 1, 3), None, [1], [0], [1], False, [0], 1
    ),
    "convolution in groups": lambda x: A.convolution(
        x.reshape(1, N, 4), torch.ones(N, 1, 3), None, [1], [0], [1], False, [0], N
    ),
    "avg_pool2d": lambda x: A.avg_pool2d(x.reshape(N, 1, 2, 2), [2, 2]),
    "constant_pad_nd": lambda x: A.constant_pad_nd(x, [1, 1]),
    "flip": lambda x: A.flip(x, [0]),
    "roll": lambda x: A.roll(x, [1], [0]),
    "im2col": lambda x: A.im2col(x.reshape(N, 1, 2, 2), [2, 2], [1, 1], [1, 1], [1, 1]),
}


@pytest.mark.parametrize("name", CASES)
def test_marking_finds_every_dependence(name):
    run, x = CASES[name], rows(4)
    owner = torch.arange(N, dtype=torch.int16).unsqueeze(1).expand(N, 4)

    def marked(flags):
        return run(torch.ones(N, 4).masked_fill(flags[0], float("nan")))

    (found,) = traced(marked, [owner], N)
    base = run(x)
    for record in range(N):
        moved = x.clone()
        moved[record] += torch.randn(4, generator=torch.Generator().manual_seed(9))
        depends = run(moved) != base
        assert bool(((found == record) | (found == -2))[depends].all())


def test_what_is_taken_over_two_records_is_mixed():
    owner = torch.tensor([[0, 0], [1, 1]], dtype=torch.int16)
    assert reduced(owner, [0], False).tolist() == [-2, -2]
    assert reduced(owner, [1], False).tolist() == [0, 1]
    assert filled(torch.tensor([[0, -1], [1, -1]], dtype=torch.int16)).tolist() == [[0, 0], [1, 1]]


def test_fused_attention_is_not_marked():
    """Its maximum forgets NaN."""
    assert not any("attention" in name for name in SMOOTH)
