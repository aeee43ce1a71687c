"""Every event and constructor of dp-accounting has a row in accounting_pld.py, or a reason why not."""

from __future__ import annotations

import inspect

from peers.pld_workloads import WORKLOADS

# The kinds of rows in which an event of dp-accounting is accounted.
EVENTS = {
    "GaussianDpEvent": ("gaussian", "gaussian replaced"),
    "LaplaceDpEvent": ("laplace", "Laplace replaced"),
    "DiscreteLaplaceDpEvent": ("discrete laplace", "sampled Gaussian and discrete Laplace"),
    "RandomizedResponseDpEvent": ("randomized response of several", "randomized response, special"),
    "SelfComposedDpEvent": ("trees", "zCDP"),
    "ComposedDpEvent": ("Gaussian and Laplace", "Gaussian and randomized response"),
    "PoissonSampledDpEvent": ("sampled Gaussian and Laplace", "Gaussians on one sample"),
    "SampledWithoutReplacementDpEvent": ("batch without replacement",),
    "SingleEpochTreeAggregationDpEvent": ("trees",),
    "RepeatAndSelectDpEvent": ("best of Gaussian runs", "best of Laplace runs"),
    "MixtureOfGaussiansDpEvent": ("mixture of Gaussians",),
    "ZCDpEvent": ("zCDP", "best of zCDP runs"),
    "TruncatedSubsampledGaussianDpEvent": ("truncated", "truncated replaced"),
}
CONSTRUCTORS = {
    "from_two_probability_mass_functions": ("two tables",),
    "from_randomized_response": ("randomized response", "randomized response, special"),
    "from_laplace_mechanism": ("laplace",),
    "from_gaussian_mechanism": ("gaussian", "gaussian replaced"),
    "from_discrete_laplace_mechanism": ("discrete laplace", "discrete Laplace, sampled or far"),
    "from_discrete_gaussian_mechanism": ("discrete gaussian", "discrete Gaussian, sampled or far"),
    "from_mixture_gaussian_mechanism": ("mixture of Gaussians",),
    "from_truncated_subsampled_gaussian_mechanism": ("truncated", "truncated replaced"),
    "from_privacy_parameters": ("pure", "approximate"),
}
REASONS = {
    "NoOpDpEvent": "nothing is released: epsilon is 0",
    "NonPrivateDpEvent": "nothing is private: epsilon is infinite",
    "UnsupportedDpEvent": "every accountant refuses it",
    "SampledWithReplacementDpEvent": "no accountant of 0.6.0 takes it",
    "identity": "nothing is released: epsilon is 0",
    "create_from_cdf": "a way to give a law of losses, of no mechanism of its own",
}


def uncovered() -> list[str]:
    """Events and constructors without a row or a reason, and rows that are named but do not exist."""
    from dp_accounting import dp_event
    from dp_accounting.pld import privacy_loss_distribution as pld

    kinds = {work.kind for work in WORKLOADS}
    named = EVENTS | CONSTRUCTORS
    events = {
        name
        for name, kind in vars(dp_event).items()
        if inspect.isclass(kind) and issubclass(kind, dp_event.DpEvent)
    }
    makers = {
        name
        for name, made in vars(pld).items()
        if inspect.isfunction(made) and made.__module__ == pld.__name__ and name[0] != "_"
    }
    missing = (events - {"DpEvent"} | makers) - named.keys() - REASONS.keys()
    return sorted(missing) + sorted({row for rows in named.values() for row in rows} - kinds)
