"""For every kind of event, mechanisms that it describes: the one table that a new kind has to be added to."""

from __future__ import annotations

import math

import brute_force as brute
import numpy as np
from brute_force import Witness
from scipy.stats import laplace

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.events.event import Event

NOBODY, CROWD = (0.0, 0.0), (-1.0, -1.0)


def witnesses(event: Event, relation: Adjacency) -> list[Witness]:
    """Mechanisms the event describes, its guarantee proved under `relation`."""
    for kinds in (_noisy, _guaranteed, _chosen, _batched, _streamed):
        found = kinds(event, relation)
        if found:
            return found
    raise AssertionError(f"no mechanism is listed for {type(event).__name__}: add one")


def _noisy(event: Event, _relation: Adjacency) -> list[Witness]:
    match event:
        case dpcheck.Gaussian(noise):
            return [Witness(brute.gaussian(noise))]
        case dpcheck.Laplace(noise):
            return [Witness(brute.binned(laplace.cdf, noise))]
        case dpcheck.DiscreteGaussian(scale, bound):
            return [Witness(brute.integers(brute.gaussian_mass(scale), bound))]
        case dpcheck.DiscreteLaplace(scale, bound):
            return [Witness(brute.integers(brute.laplace_mass(scale), bound))]
        case dpcheck.RandomizedResponse():
            return [Witness(brute.answers(event), record=1.0, replaced=0.0, others=(1.0,))]
        case dpcheck.ShuffledReports(epsilon, people):
            others = (0.0,) * (people - 1)
            return [Witness(brute.shuffled(epsilon), replaced=0.0, others=others)]
        case dpcheck.NotPrivate():
            return [Witness(brute.reveals)]
        case dpcheck.OutputPerturbation(rate, sensitivity, own):
            return [brute.stated(brute.binned(laplace.cdf, 1 / (rate * sensitivity)), own)]
        case dpcheck.ObjectivePerturbation(rows=rows):
            return [Witness(brute.minimiser(event), others=(0.0,) * (rows - 1))]
        case dpcheck.GaussianObjectivePerturbation(rows=rows):
            return [Witness(brute.minimiser(event), others=(0.0,) * (rows - 1))]
    return []


def _guaranteed(event: Event, relation: Adjacency) -> list[Witness]:
    match event:
        case dpcheck.FinitePair(p, q):
            return brute.tables(p, q)
        case dpcheck.LossDistribution(masses=masses):
            return brute.tables((masses[-1], 1 - masses[-1]), (1 - masses[-1], masses[-1]))
        case dpcheck.PureDP(epsilon):
            return [brute.stated(brute.integers(brute.laplace_mass(1 / epsilon), 1), relation)]
        case dpcheck.ApproxDP(epsilon, delta):
            law = brute.coin(delta, brute.integers(brute.laplace_mass(1 / epsilon), 1, 25))
            return [brute.stated(law, relation)]
        case dpcheck.ZCDP(rho):
            return [brute.stated(brute.gaussian(1 / math.sqrt(2 * rho)), relation)]
        case dpcheck.GDP(mu):
            return [brute.stated(brute.gaussian(1 / mu), relation)]
    return []


def _chosen(event: Event, relation: Adjacency) -> list[Witness]:
    match event:
        case dpcheck.ExponentialMechanism(epsilon):
            wins = brute.logistic(epsilon / 2)
            return brute.choice(wins, monotone=False, relation=relation)
        case dpcheck.ReportNoisyMax(noise, kind, monotone):
            wins = {
                "laplace": brute.laplace_lead(noise),
                "gumbel": brute.logistic(1 / noise),
                "exponential": brute.flipped(2 / noise),
            }[kind]
            return brute.choice(wins, monotone=monotone, relation=relation)
        case dpcheck.PermuteAndFlip(epsilon):
            return brute.choice(brute.flipped(epsilon), monotone=False, relation=relation)
        case dpcheck.AboveThreshold():
            return [brute.stated(law, relation) for law in brute.threshold_laws(event)]
    return []


def _batched(event: Event, _relation: Adjacency) -> list[Witness]:
    plain = brute.gaussian(getattr(event, "noise_multiplier", 1.0))
    match event:
        case dpcheck.SampledGaussian(_, rate):
            return [Witness(brute.sampled(plain, rate), others=o) for o in ((), CROWD)]
        case dpcheck.SampledLaplace(noise, rate):
            return [Witness(brute.sampled(brute.binned(laplace.cdf, noise), rate))]
        case dpcheck.FixedBatchGaussian(_, _, batch):
            return [Witness(brute.fixed(batch, plain), others=o) for o in (NOBODY, CROWD)]
        case dpcheck.WithReplacementGaussian(_, _, batch):
            law = brute.with_replacement(batch, plain)
            return [Witness(law, others=o) for o in (NOBODY, CROWD)]
        case dpcheck.MixtureGaussian():
            return [Witness(brute.mixed(event, plain))]
        case dpcheck.TruncatedPoissonGaussian(_, rate, _, most):
            law = brute.truncated(rate, most, plain)
            return [Witness(law, others=o) for o in (NOBODY, CROWD)]
        case dpcheck.RealisedBatchGaussian(_, rate, _):
            return [Witness(brute.with_size(rate, plain), others=o) for o in (NOBODY, CROWD)]
        case dpcheck.RandomAllocationGaussian(noise, batches):
            return [Witness(brute.allocated(batches, brute.gaussian(noise, 31)))]
    return []


def _streamed(event: Event, _relation: Adjacency) -> list[Witness]:
    """One Gaussian vector, seen along the direction in which a record moves it."""
    match event:
        case dpcheck.TreeAggregation(noise):
            return [Witness(brute.gaussian(noise / math.sqrt(brute.squares(event))))]
        case dpcheck.BandedMatrix(noise, steps, bands, takes, None):
            turns = -(-steps // bands)
            return [Witness(brute.gaussian(noise / math.sqrt(min(takes, turns))))]
        case dpcheck.BandedMatrix(noise, steps, bands, _, rate):
            turn = brute.sampled(brute.gaussian(noise, 41), rate)
            return [Witness(brute.together(*(turn,) * -(-steps // bands)))]
        case dpcheck.MatrixMechanism(noise, strategy):
            far = max(float(np.sum(column**2)) for column in np.array(strategy).T)
            return [Witness(brute.gaussian(noise / math.sqrt(far)))]
    return []
