"""One step taken apart: the right one passes, each way to get it wrong is named."""

from dataclasses import replace

import numpy as np
import pytest

from dpcheck.testing import Step, check_step

ROWS, WIDTH, NOISE, CLIP, RATE, DIVISOR = 60, 40, 1.5, 2.0, 0.2, 12.0
DATA = np.random.default_rng(3).normal(size=(ROWS, WIDTH))
LABELS = np.sign(DATA[:, 0])
WEIGHTS = np.random.default_rng(4).normal(size=WIDTH) / 9


def gradients(x, y, spread=1.0):
    return -(y / (1 + np.exp(y * (x @ WEIGHTS))))[:, None] * x * spread


def clipped(each):
    return each / np.maximum(1.0, np.linalg.norm(each, axis=1, keepdims=True) / CLIP)


def right(batch, rng):
    total = clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0)
    return (total + rng.normal(scale=NOISE * CLIP, size=WIDTH)) / DIVISOR


def own(index):
    return gradients(DATA[[index]], LABELS[[index]])[0]


def poisson(rng):
    return np.flatnonzero(rng.random(ROWS) < RATE)


STEP = Step(right, own, poisson, ROWS, NOISE, CLIP, RATE, DIVISOR)


@pytest.mark.parametrize("seed", range(10))
def test_a_right_step_is_consistent(seed):
    report = check_step(STEP, seed=seed)
    assert report.verdict == "consistent", str(report)
    assert {one.name for one in report.checks} >= {
        "noise", "clipping", "divisor", "layers and batches", "sampling rate", "Poisson sampling",
    }  # fmt: skip


def less_noise(batch, rng):
    total = clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0)
    return (total + rng.normal(scale=NOISE * CLIP / 4, size=WIDTH)) / DIVISOR


def two_noises(batch, rng):
    """Half and half, accounted as their sum."""
    total = clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0)
    half = NOISE * CLIP / 2
    return (
        total + rng.normal(scale=half, size=WIDTH) + rng.normal(scale=half, size=WIDTH)
    ) / DIVISOR


def one_noise_for_all(batch, rng):
    total = clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0)
    return (total + rng.normal(scale=NOISE * CLIP)) / DIVISOR


def same_key_twice(batch, rng):
    """Two parameters whose noise comes from generators of one seed."""
    seed, half = int(rng.integers(1 << 62)), WIDTH // 2
    noises = [np.random.default_rng(seed).normal(scale=NOISE * CLIP, size=half) for _ in range(2)]
    total = clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0)
    return (total + np.concatenate(noises)) / DIVISOR


def bare_coordinate(batch, rng):
    noise = rng.normal(scale=NOISE * CLIP, size=WIDTH)
    noise[7] = 0.0
    return (clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0) + noise) / DIVISOR


def unclipped(batch, rng):
    total = gradients(DATA[batch], LABELS[batch]).sum(axis=0)
    return (total + rng.normal(scale=NOISE * CLIP, size=WIDTH)) / DIVISOR


def clipped_as_a_batch(batch, rng):
    total = gradients(DATA[batch], LABELS[batch]).sum(axis=0)
    total *= min(1.0, CLIP / np.linalg.norm(total))
    return (total + rng.normal(scale=NOISE * CLIP, size=WIDTH)) / DIVISOR


def batch_normalised(batch, rng):
    x = DATA[batch]
    x = (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-3)
    total = clipped(gradients(x, LABELS[batch])).sum(axis=0)
    return (total + rng.normal(scale=NOISE * CLIP, size=WIDTH)) / DIVISOR


def divided_by_the_batch(batch, rng):
    return right(batch, rng) * DIVISOR / len(batch)


def smaller_divisor(batch, rng):
    noise = rng.normal(scale=NOISE * CLIP / DIVISOR, size=WIDTH)
    return clipped(gradients(DATA[batch], LABELS[batch]) / 40).sum(axis=0) / (DIVISOR / 2) + noise


@pytest.mark.parametrize(
    ("update", "name"),
    [
        (less_noise, "noise"),
        (two_noises, "noise"),
        (one_noise_for_all, "noise"),
        (bare_coordinate, "noise"),
        (same_key_twice, "noise"),
        (unclipped, "clipping"),
        (clipped_as_a_batch, "layers and batches"),
        (batch_normalised, "layers and batches"),
        (divided_by_the_batch, "layers and batches"),
    ],
)
def test_a_wrong_update_is_named_with_what_to_change(update, name):
    report = check_step(replace(STEP, update=update))
    assert name in report.wrong, str(report)
    found = next(one for one in report.checks if one.name == name)
    assert found.remedy
    assert "test_step.py:" in found.where


def measured(step):
    return check_step(replace(step, follow=False))


@pytest.mark.parametrize(
    "update", [less_noise, two_noises, one_noise_for_all, bare_coordinate, same_key_twice]
)
def test_wrong_noise_is_named_where_code_cannot_be_followed(update):
    """By its variance, coordinate by coordinate and between them."""
    report = measured(replace(STEP, update=update))
    assert "noise" in report.wrong, str(report)
    assert "Followed" not in str(report)


@pytest.mark.parametrize("seed", range(10))
def test_a_right_step_is_consistent_where_code_cannot_be_followed(seed):
    assert check_step(replace(STEP, follow=False), seed=seed).verdict == "consistent"


def slightly_less(batch, rng):
    total = clipped(gradients(DATA[batch], LABELS[batch])).sum(axis=0)
    return (total + rng.normal(scale=0.999 * NOISE * CLIP, size=WIDTH)) / DIVISOR


def test_followed_noise_is_judged_exactly_and_with_its_line():
    report = check_step(replace(STEP, update=slightly_less))
    (noise,) = (one for one in report.checks if one.name == "noise")
    start = slightly_less.__code__.co_firstlineno
    assert (noise.outcome, noise.where) == ("violated", f"test_step.py:{start + 2}")
    assert measured(replace(STEP, update=slightly_less)).verdict == "consistent"


def test_another_divisor_is_named():
    step = replace(STEP, update=smaller_divisor, gradient=lambda index: own(index) / 40)
    report = check_step(replace(step, clip=CLIP))
    assert report.wrong == ("divisor",), str(report)


def shuffled():
    """Every example once an epoch, in batches of one size."""
    waiting = []

    def sample(rng):
        if not waiting:
            waiting.extend(np.split(rng.permutation(ROWS), ROWS // 12))
        return waiting.pop()

    return sample


WEIGHTS_OF_ROWS = np.where(np.arange(ROWS) == 5, 9.0, 1.0) / (ROWS + 8.0)


@pytest.mark.parametrize(
    ("sample", "name"),
    [
        (lambda rng: np.flatnonzero(rng.random(ROWS) < 1.5 * RATE), "sampling rate"),
        (lambda rng: rng.choice(ROWS, 12, p=WEIGHTS_OF_ROWS), "sampling rate"),
        (lambda rng: rng.choice(ROWS, 12), "Poisson sampling"),
        (lambda rng: rng.choice(ROWS, 12, replace=False), "Poisson sampling"),
        (shuffled(), "Poisson sampling"),
    ],
)
def test_a_wrong_sampler_is_named(sample, name):
    assert name in check_step(replace(STEP, sample=sample)).wrong


def test_a_clip_that_nobody_reaches_is_not_vouched_for():
    generous = replace(STEP, clip=1e3, noise_multiplier=NOISE * CLIP / 1e3, update=unclipped)
    report = check_step(generous)
    assert report.verdict == "undecided", str(report)
    assert "would not show" in str(report)


def test_noise_that_does_not_follow_the_seed_leaves_clipping_unchecked():
    fresh = np.random.default_rng()
    report = check_step(replace(STEP, update=lambda batch, rng: right(batch, fresh)))
    assert report.verdict == "undecided"
    assert "same seed" in str(report)


ODD = 41  # one example of all is treated differently


def one_is_not_clipped(batch, rng):
    each = gradients(DATA[batch], LABELS[batch])
    kept = np.where((batch == ODD)[:, None], each * 0.9, clipped(each))
    return (kept.sum(axis=0) + rng.normal(scale=NOISE * CLIP, size=WIDTH)) / DIVISOR


def one_counts_more(batch, rng):
    each = clipped(gradients(DATA[batch], LABELS[batch]) / 40)
    each[batch == ODD] *= 1.1
    return (each.sum(axis=0) + rng.normal(scale=NOISE * CLIP, size=WIDTH)) / DIVISOR


@pytest.mark.parametrize("seed", range(3))
def test_one_example_among_all_is_found(seed):
    small = replace(STEP, gradient=lambda index: own(index) / 40, update=one_counts_more)
    (divisor,) = (one for one in check_step(small, seed=seed).checks if one.name == "divisor")
    assert divisor.outcome == "violated", str(divisor)
    assert "1.1 times" in divisor.seen
    # It is among none of those with the longest gradients.
    lengths = [np.linalg.norm(own(row)) for row in range(ROWS)]
    assert sorted(lengths)[-8] > lengths[ODD] > CLIP
    assert "clipping" in check_step(replace(STEP, update=one_is_not_clipped), seed=seed).wrong


def test_the_number_of_examples_can_be_limited_and_is_told():
    asked = []
    counted = replace(STEP, gradient=lambda index: asked.append(index) or own(index))
    report = check_step(counted, examples=10)
    assert report.verdict == "consistent"
    assert len(set(asked)) == 10
    assert "10 of 60 examples add" in str(report)
    assert "All 60 examples add" in str(check_step(STEP))


@pytest.mark.parametrize("rows", [4, 5, 9])
def test_few_examples_are_enough(rows):
    few = replace(STEP, rows=rows, sample=lambda rng: np.flatnonzero(rng.random(rows) < RATE))
    assert "noise" not in check_step(few).wrong
    assert "clipping" not in check_step(few).wrong
