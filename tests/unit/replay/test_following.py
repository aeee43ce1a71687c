"""Values that know their draws: what stays affine, what is lost, what leaves."""

from __future__ import annotations

import contextlib
import copy
import math
import operator

import numpy as np
import pytest

from dpcheck.replay.draws import Family
from dpcheck.replay.following.arrays import FollowedArray
from dpcheck.replay.following.values import Affine, Followed, Lost, Monotone, Tabled
from dpcheck.replay.marks import MarkKind
from dpcheck.replay.recorder import Recorder, recording
from dpcheck.replay.sampling import standard


@pytest.fixture
def recorder():
    with recording(Recorder(3)) as made:
        yield made


@pytest.fixture
def noise(recorder):
    return standard(recorder, "test", Family.LAPLACE, (3,))


def value(x):
    return x.concrete() if isinstance(x, Followed) else x


def concrete(array):
    return np.array([value(x) for x in np.ravel(array).tolist()]).reshape(np.shape(array))


AFFINE = [
    lambda x, z: x + z,
    lambda x, z: z - x,
    lambda x, z: 2.5 * z / 3.0 + x,
    lambda x, z: np.stack([x + z, z])[0],
    lambda x, z: np.concatenate([z, x])[:3],
    lambda x, z: np.cumsum(x + z),
    lambda x, z: (np.arange(9.0).reshape(3, 3) @ z) + x,
    lambda x, z: np.outer(x, z)[1],
    lambda x, z: np.array([np.sum(z), np.mean(x + z), (x + z).mean()]),
    lambda x, z: np.einsum("i,j->ij", x, z)[2],
    lambda x, z: (x + z)[::-1],
    lambda x, z: (x + z).reshape(3, 1).T[0],
    lambda x, z: -z + x,
    lambda x, z: np.diff(np.append(z, x[0])),
    lambda x, z: np.average(np.stack([z, x]), axis=0),
    lambda x, z: np.where(x > 1, z, x),
    lambda x, z: np.tensordot(x, np.stack([z, z, z]), axes=1),
]


@pytest.mark.parametrize("function", AFFINE)
def test_affine_operations_keep_the_right_coefficients(function, recorder, noise):
    """Against finite differences of plain numpy."""
    x = np.array([1.0, 2.0, 4.0])
    made = np.ravel(function(x, noise))
    assert recorder.clean
    at = np.array(recorder.values[:3])
    plain = np.ravel(function(x, at))
    np.testing.assert_allclose(concrete(made), plain, rtol=1e-12)
    for atom in range(3):
        step = np.zeros(3)
        step[atom] = 0.5
        slope = (np.ravel(function(x, at + step)) - plain) / 0.5
        mine = [
            entry.coefficients.get(atom, 0.0) if isinstance(entry, Affine) else 0.0
            for entry in made.tolist()
        ]
        np.testing.assert_allclose(mine, slope, atol=1e-9)


def test_scalars_of_every_kind_meet(recorder, noise):
    z = noise[0]
    for other in (2, 2.0, np.float64(2.0), np.float32(2.0), np.int64(2), True, np.array(2.0)):
        for op in (operator.add, operator.sub, operator.mul):
            assert isinstance(op(z, other), Affine)
            assert isinstance(op(other, z), Affine)
    assert isinstance(z / np.float64(4), Affine)
    assert isinstance(sum([z, 1.0, z]), Affine)
    assert isinstance(np.array([1.0, 2.0]) + z, FollowedArray)
    assert recorder.clean


def test_noise_that_cancels_is_none(noise):
    assert noise[0] - noise[0] == 0.0
    assert 0.1 * noise[0] + 0.2 * noise[0] - 0.3 * noise[0] == pytest.approx(0.0)
    assert np.sum(noise - noise) == 0.0


def test_nan_swallows_noise(noise):
    assert math.isnan(noise[0] + math.nan)
    assert math.isnan(np.sum(np.array([1.0, np.nan]) + noise[0]))


def test_products_and_powers_of_noise_are_lost(noise):
    for lost in (noise[0] * noise[1], noise[0] ** 2, 1.0 / noise[0], abs(noise[0]), noise[0] % 2):
        assert isinstance(lost, Lost)
    assert all(isinstance(x, Lost) for x in np.sort(noise).tolist())
    assert isinstance(np.max(noise), Lost)


def test_clipping_and_rounding_are_monotone(noise):
    for made in (
        np.clip(noise[0], 0, 1),
        np.maximum(noise[0], 0),
        round(noise[0]),
        np.floor(noise[0]),
        np.exp(noise[0]),
        noise[0] // 2,
        noise[0].astype(int),
        np.round(noise, 1)[0],
        -np.clip(noise, -1, 1)[0],
    ):
        assert isinstance(made, Monotone)
        inner = made.inner.concrete()
        assert made.at(inner) == made.concrete()
    assert isinstance(np.clip(noise[0], -np.inf, np.inf), Affine)


def test_flipped_steps_keep_their_order(noise):
    made = np.maximum(-np.clip(noise[0], -1, 1), -0.5)
    for x in (-3.0, -0.7, 0.2, 0.6, 5.0):
        assert made.at(x) == max(-min(max(x, -1), 1), -0.5)


@pytest.mark.parametrize(
    "use",
    [
        float,
        str,
        repr,
        hash,
        complex,
        lambda z: f"{z:.2f}",
        lambda z: [1, 2][z],
        lambda z: math.sin(z),
        lambda z: np.array([1.0]).__setitem__(0, z),
        lambda z: np.asarray([z], dtype=float),
        lambda z: {z: 1},
        lambda z: copy.copy(z).__float__(),
        lambda z: np.add(np.ones(1), z, out=np.ones(1)),
        lambda z: z.is_integer(),
    ],
)
def test_whatever_makes_it_plain_leaves_a_mark(use, recorder, noise):
    with contextlib.suppress(TypeError, ZeroDivisionError, IndexError):
        use(noise[0])
    assert any(mark.kind is MarkKind.LEFT for mark in recorder.marks)


@pytest.mark.parametrize(
    "use",
    [
        lambda z: z.tobytes(),
        np.linalg.inv,
        lambda z: z.data,
        lambda z: z.ctypes,
        lambda z: str(z),
        lambda z: z.__array_interface__,
        lambda z: np.save_nothing(z) if hasattr(np, "save_nothing") else z.tofile("/dev/null"),
        lambda z: np.ndarray.astype(z, float),
        lambda z: np.fft.fft(z[0]),
    ],
)
def test_whatever_makes_an_array_plain_leaves_a_mark(use, recorder):
    square = standard(recorder, "test", Family.NORMAL, (2, 2))
    use(square)
    assert any(mark.kind is MarkKind.LEFT for mark in recorder.marks)


def test_branches_are_decisions(recorder, noise):
    above = noise[0] > 0.25
    assert isinstance(above, Tabled)
    assert not recorder.decisions
    assert bool(above) == (recorder.values[0] > 0.25)
    assert len(recorder.decisions) == 1
    assert bool(above) == (recorder.values[0] > 0.25)
    assert len(recorder.decisions) == 1  # taken once
    assert recorder.clean


def test_forced_decisions():
    for forced in (0, 1):
        recorder = Recorder(0, forced=(forced,))
        z = standard(recorder, "test", Family.LAPLACE, None)
        assert bool(z > 0) == (forced == 0)


def test_truth_of_a_lost_value_is_a_branch(recorder, noise):
    bool(noise[0] * noise[1] > 0)
    assert any(mark.kind is MarkKind.BRANCH for mark in recorder.marks)


def test_in_place_on_a_lone_array_is_followed(recorder, noise):
    def lone():
        x = np.ones(3)
        x += noise
        return x

    def shared():
        x = np.ones(3)
        y = x
        x += noise
        return y

    assert isinstance(lone(), FollowedArray)
    assert recorder.clean
    assert type(shared()) is np.ndarray
    assert not recorder.clean


def test_views_share_their_entries(recorder, noise):
    array = np.zeros(4).astype(object).view(FollowedArray)
    for view in (array.reshape(2, 2), np.reshape(array, (2, 2)), array.T.reshape(2, 2)):
        view[0, 1] = noise[0]
        assert array[1] is noise[0]
        array[1] = 0.0
    np.copyto(array, noise[1])
    assert array[3] is noise[1]


def test_functions_that_write_into_constants_do(recorder):
    array = np.array([3.0, np.nan, 1.0]).astype(object).view(FollowedArray)
    np.nan_to_num(array, copy=False)
    assert array[1] == 0.0
    np.add.at(array, [0, 0], 1.0)
    assert array[0] == 5.0


def test_types_look_like_what_they_stand_for(noise):
    assert isinstance(noise[0], float)
    assert isinstance(noise, np.ndarray)
    assert noise.dtype == np.float64
    assert isinstance(noise[0] > 0, bool)
    assert np.isscalar(noise[0])


def test_argmax_is_one_outcome_per_entry(noise):
    picked = np.argmax(noise + np.array([1.0, 0.0, 0.0]))
    assert isinstance(picked, Tabled)
    assert picked.table == (0, 1, 2)
    assert picked.concrete() == int(np.argmax(concrete(noise + np.array([1.0, 0.0, 0.0]))))


def test_tables_join(noise):
    coins = noise > 0
    total = coins[0].astype(int) + coins[1].astype(int)
    assert isinstance(total, Tabled)
    assert sorted(total.table) == [0, 1, 1, 2]
    assert (coins[0] & ~coins[0]) is False or (coins[0] & ~coins[0]) == 0


def test_integer_containers_truncate(recorder, noise):
    array = np.zeros(2, dtype=int).astype(object).view(FollowedArray)
    array.native = np.dtype(np.int64)
    array[0] = noise[0]
    assert isinstance(array[0], Monotone)
