"""The perturbed objective of one logistic regression: the noise behind a release, and its density.

The minimiser w of sum_i log(1 + exp(-w.x~_i)) + n lam g(w) + n Delta |w|^2/2 + b.w, x~ = y x,
satisfies

    b(w) = sum_i x~_i s(-w.x~_i) - n lam grad g(w) - n Delta w,

a bijection of w and b whose Jacobian is -A(w),

    A(w) = n lam Hess g + n Delta I + sum_i s'(w.x~_i) x_i x_i^T.

So the density of w is h(b(w)) det A(w), with h(b) proportional to exp(-eps' |b| / 2), or normal.
(Both papers print a plus sign in h; such an h has no integral.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from dpcheck.mechanisms.common.regularizers import Floats, Regularizer, Ridge
from dpcheck.mechanisms.objective import noise
from dpcheck.mechanisms.objective.noise import ObjectiveEvent, modulus_of


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows times labels, shared by all releases (n, d) or one set per release (size, n, d).

    `counts` says how often each row occurs; without it each occurs once.
    """

    signed: Floats
    counts: Floats | None = None

    @property
    def shared(self) -> bool:
        """Whether all releases see the same rows."""
        return self.signed.ndim == 2

    @cached_property
    def products(self) -> tuple[Floats, NDArray[np.intp]] | None:
        """x_a x_b of each row, a <= b, and where they go; None if not shared or too big."""
        n, d = self.signed.shape[-2:]
        if not self.shared or n * d * d > 4_000_000:
            return None
        a, b = np.triu_indices(d)
        place = np.empty((d, d), dtype=np.intp)
        place[a, b] = place[b, a] = np.arange(len(a))
        return self.signed[:, a] * self.signed[:, b], place.ravel()

    @cached_property
    def spectrum(self) -> tuple[Floats, Floats]:
        """Eigenvalues and eigenvectors of sum_i x_i x_i^T of shared rows."""
        values, vectors = np.linalg.eigh(self._weighted(self.signed.T) @ self.signed)
        return values, vectors

    def _weighted(self, factors: Floats) -> Floats:
        """Factors of each row, times how often it occurs."""
        return factors if self.counts is None else np.asarray(factors * self.counts)

    def mean(self, values: Floats) -> Floats:
        """The mean over the rows for each release."""
        many = self.signed.shape[-2] if self.counts is None else self.counts.sum()
        return np.asarray(self._weighted(values).sum(axis=1) / many)

    def margins(self, weights: Floats) -> Floats:
        """w.x~ for each release and row, shape (size, n)."""
        if self.shared:
            return np.asarray(weights @ self.signed.T)
        return np.asarray((self.signed @ weights[:, :, None])[:, :, 0])

    def weighted_sum(self, factors: Floats) -> Floats:
        """sum_i factors_i x~_i for each release."""
        factors = self._weighted(factors)
        if self.shared:
            return np.asarray(factors @ self.signed)
        return np.asarray((factors[:, None, :] @ self.signed)[:, 0, :])

    def weighted_square(self, factors: Floats) -> Floats:
        """sum_i factors_i x_i x_i^T for each release."""
        factors = self._weighted(factors)
        if not self.shared:
            return np.asarray(np.swapaxes(self.signed * factors[:, :, None], 1, 2) @ self.signed)
        d = self.signed.shape[1]
        if self.products is not None:
            products, place = self.products
            return np.asarray((factors @ products)[:, place].reshape(-1, d, d))
        return np.stack([(self.signed.T * row) @ self.signed for row in factors])


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """One objective, or a batch that differs in the noise, the centre or the rows."""

    rows: Rows
    event: ObjectiveEvent
    regularizer: Regularizer

    @property
    def features(self) -> int:
        """The number of weights."""
        return int(self.rows.signed.shape[-1])

    @property
    def uniform(self) -> bool:
        """Whether all releases share rows and centre, so that only the noise differs."""
        return self.rows.shared and not self._own_centers

    @property
    def _own_centers(self) -> bool:
        return isinstance(self.regularizer, Ridge) and np.ndim(self.regularizer.center) == 2

    def part(self, which: slice | NDArray[np.intp] | NDArray[np.bool_]) -> Objective:
        """The objective of some of the releases."""
        if self.uniform:
            return self
        rows = self.rows
        if not rows.shared:
            rows = Rows(rows.signed[which], rows.counts)
        regularizer = self.regularizer
        if isinstance(regularizer, Ridge) and self._own_centers:
            regularizer = Ridge(np.asarray(regularizer.center)[which])
        return Objective(rows, self.event, regularizer)

    def pulls(self, weights: Floats) -> Floats:
        """s(-w.x~) for each release and row, shape (size, n)."""
        # Three times as fast as scipy's expit; an overflow to infinity gives the right 0.
        with np.errstate(over="ignore"):
            pulls = np.exp(self.rows.margins(weights))
        pulls += 1
        return np.asarray(np.reciprocal(pulls, out=pulls))

    def noise(self, weights: Floats, pulls: Floats) -> Floats:
        """b(w): the noise that makes each row of `weights` the minimiser."""
        e = self.event
        penalty = e.regularization * self.regularizer.gradient(weights)
        penalty += e.extra_regularization * weights
        return self.rows.weighted_sum(pulls) - e.rows * penalty

    def curvature(self, weights: Floats, pulls: Floats) -> Floats:
        """A(w), shape (size, d, d)."""
        e = self.event
        total = self.rows.weighted_square(pulls * (1 - pulls))
        total += e.rows * e.regularization * self.regularizer.hessian(weights)
        total += e.rows * e.extra_regularization * np.eye(self.features)
        return total

    def mean_curvature_step(self, pulls: Floats, gradient: Floats) -> Floats:
        """A Newton step with s'(w.x~_i) replaced by its mean over the rows, for shared rows.

        One eigendecomposition then serves all releases: a step costs two small products.
        """
        e, (values, vectors) = self.event, self.rows.spectrum
        mean = self.rows.mean(pulls * (1 - pulls))
        modulus = modulus_of(e)
        return np.asarray((gradient @ vectors) / (modulus + mean[:, None] * values) @ vectors.T)

    def log_density(self, weights: Floats) -> Floats:
        """The log density of each row of `weights`, normalised."""
        s = self.pulls(weights)
        b = self.noise(weights, s)
        _, log_det = np.linalg.slogdet(self.curvature(weights, s))
        return np.asarray(noise.log_density(self.event, b) + log_det)
