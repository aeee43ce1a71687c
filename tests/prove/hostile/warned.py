"""Warnings and floating-point errors that private values cause, and code that hears them."""

from __future__ import annotations

import contextlib
import io
import logging
import warnings

import numpy as np
from scipy import special

from .base import Group, unit

GROUP = Group("warned", pair=(unit(1.0, 1.0), unit(0.0, 1.0)))  # dividing by 0 warns


@GROUP.wrong(50.0)
def recorded(x, rng):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        1.0 / x
    return 50.0 * len(heard) + rng.laplace()


@GROUP.wrong(50.0)
def recorded_logarithm(x, rng):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        np.log(x)
    return 50.0 * bool(heard) + rng.laplace()


@GROUP.wrong(50.0)
def recorded_without_a_filter(x, rng):
    with warnings.catch_warnings(record=True, action="always") as heard:
        1.0 / x
    return 50.0 * len(heard) + rng.laplace()


@GROUP.wrong(50.0)
def shown(x, rng):
    heard = []
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *a, **k: heard.append(a)
        1.0 / x
    return 50.0 * len(heard) + rng.laplace()


@GROUP.wrong(50.0)
def written_to_stderr(x, rng):
    heard = io.StringIO()
    with warnings.catch_warnings(), contextlib.redirect_stderr(heard):
        warnings.simplefilter("always")
        warnings.showwarning = _write
        1.0 / x
    return 50.0 * bool(heard.getvalue()) + rng.laplace()


def _write(message, category, filename, lineno, file=None, line=None):
    print(message, file=__import__("sys").stderr)


@GROUP.wrong(50.0)
def error_filter(x, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            1.0 / x
        except RuntimeWarning:
            return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def raised(x, rng):
    try:
        with np.errstate(divide="raise"):
            1.0 / x
    except FloatingPointError:
        return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.wrong(50.0)
def called(x, rng):
    heard = []
    with np.errstate(divide="call", call=lambda *a: heard.append(a)):
        1.0 / x
    return 50.0 * len(heard) + rng.laplace()


class _Log:
    def __init__(self):
        self.heard = 0

    def write(self, text):
        self.heard = 1


@GROUP.wrong(50.0)
def logged(x, rng):
    log = _Log()
    with np.errstate(divide="log", call=log):
        1.0 / x
    return 50.0 * log.heard + rng.laplace()


@GROUP.wrong(50.0)
def set_for_good(x, rng):
    heard = []
    before, call = np.seterr(divide="call"), np.seterrcall(lambda *a: heard.append(a))
    1.0 / x
    np.seterr(**before)
    np.seterrcall(call)
    return 50.0 * len(heard) + rng.laplace()


@GROUP.wrong(50.0)
def registry_of_warnings(x, rng):
    globals().pop("__warningregistry__", None)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = lambda *a, **k: None
        1.0 / x
        found = bool([key for key in globals().get("__warningregistry__", {}) if key != "version"])
    return 50.0 * found + rng.laplace()


@GROUP.wrong(50.0)
def captured_by_logging(x, rng):
    heard = []
    handler = logging.Handler()
    handler.emit = heard.append
    logger = logging.getLogger("py.warnings")
    logger.addHandler(handler)
    logger.propagate = False
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        logging.captureWarnings(True)
        1.0 / x
        logging.captureWarnings(False)
    logger.removeHandler(handler)
    logger.propagate = True
    return 50.0 * len(heard) + rng.laplace()


@GROUP.wrong(50.0)
def error_of_scipy(x, rng):
    with special.errstate(all="raise"):
        try:
            special.gammaln(x.min())
        except special.SpecialFunctionError:
            return 50.0 + rng.laplace()
    return 0.0 + rng.laplace()


@GROUP.right(1.0)
def silenced(x, rng):
    """Nobody hears the warning."""
    with np.errstate(divide="ignore"):
        y = np.minimum(1.0 / x, 1.0) * 0.0 + x
    return np.nan_to_num(y).clip(0, 1).sum() + rng.laplace()
