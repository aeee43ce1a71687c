"""What outlives a call, or was there before it: caches, globals, attributes, threads."""

from __future__ import annotations

import contextvars
import functools
import gc
import os
import sys
import tempfile
import threading
import weakref
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from .base import Group

GROUP = Group("state")
KEPT: list = []
BOX = SimpleNamespace(value=0.0)
HERE = contextvars.ContextVar("here", default=0.0)
LOCAL = threading.local()


@GROUP.wrong(50.0)
def list_of_the_module(x, rng):
    KEPT.clear()
    KEPT.append(50.0 * x.sum())
    return KEPT[0] + rng.laplace()


@GROUP.wrong(50.0)
def attribute_of_the_module(x, rng):
    BOX.value = 50.0 * x.sum()
    return BOX.value + rng.laplace()


@GROUP.wrong(50.0)
def attribute_of_the_function(x, rng):
    attribute_of_the_function.total = 50.0 * x.sum()
    return attribute_of_the_function.total + rng.laplace()


@GROUP.wrong(50.0)
def global_name(x, rng):
    global TOTAL
    TOTAL = 50.0 * x.sum()
    return TOTAL + rng.laplace()


@GROUP.wrong(50.0)
def context_variable(x, rng):
    HERE.set(50.0 * x.sum())
    return HERE.get() + rng.laplace()


@GROUP.wrong(50.0)
def local_of_a_thread(x, rng):
    LOCAL.value = 50.0 * x.sum()
    return LOCAL.value + rng.laplace()


@GROUP.wrong(50.0)
def another_thread(x, rng):
    found = []
    worker = threading.Thread(target=lambda: found.append(50.0 * float(x.sum())))
    worker.start()
    worker.join()
    return found[0] + rng.laplace()


@GROUP.wrong(50.0)
def another_thread_and_a_text(x, rng):
    found = []
    worker = threading.Thread(target=lambda: found.append(50.0 * ("1.0" in str(x.max()))))
    worker.start()
    worker.join()
    return sum(found) + rng.laplace()


@GROUP.wrong(50.0)
def a_file(x, rng):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kept.npy"
        np.save(path, x)
        return 50.0 * np.load(path)[-1] + rng.laplace()


@GROUP.wrong(50.0)
def a_variable_of_the_process(x, rng):
    os.environ["DPCHECK_HOSTILE"] = "1" if "1.0" in str(x.max()) else "0"
    return 50.0 * int(os.environ.pop("DPCHECK_HOSTILE")) + rng.laplace()


@GROUP.wrong(50.0)
def a_frame(x, rng):
    found = sys._getframe().f_locals["x"]
    return 50.0 * found[-1] + rng.laplace()


@GROUP.wrong(50.0)
def objects_of_the_collector(x, rng):
    y = [x]
    found = [o for o in gc.get_referrers(x) if o is y]
    return 50.0 * found[0][0][-1] + rng.laplace()


@GROUP.wrong(50.0)
def number_of_references(x, rng):
    parts = list(x[x > 0.5])
    return 50.0 * len(parts) + rng.laplace()


@GROUP.wrong(50.0)
def weak_reference(x, rng):
    return 50.0 * weakref.ref(x)()[-1] + rng.laplace()


class Model:
    """An estimator that keeps what it saw."""

    def fit(self, x):
        """Keep the total."""
        self.total = x.sum()
        return self

    @functools.cached_property
    def doubled(self):
        """Twice the total, kept."""
        return 2.0 * self.total

    @property
    def half(self):
        """Half the total."""
        return self.total / 2


@GROUP.wrong(50.0)
def estimator(x, rng):
    return 50.0 * Model().fit(x).total + rng.laplace()


@GROUP.wrong(50.0)
def cached_property(x, rng):
    return 25.0 * Model().fit(x).doubled + rng.laplace()


@GROUP.wrong(50.0)
def properties(x, rng):
    return 100.0 * Model().fit(x).half + rng.laplace()


@functools.cache
def _branch(positive):
    return 50.0 if positive else 0.0


@GROUP.wrong(50.0)
def cached_branch(x, rng):
    return _branch(x.max() > 0.5) + rng.laplace()


@functools.cache
def _passed(value):
    return value


@GROUP.wrong(50.0)
def cached_value(x, rng):
    return 50.0 * _passed(x.max()) + rng.laplace()


@GROUP.wrong(50.0)
def replaced_function(x, rng):
    """A name of numpy means something else while this runs."""
    kept, np.clip = np.clip, lambda value, *_: 50.0 * value
    try:
        return np.clip(x, 0.0, 1.0).sum() + rng.laplace()
    finally:
        np.clip = kept


def _outer():
    total = 0.0

    def add(value):
        nonlocal total
        total = total + value
        return total

    return add


@GROUP.wrong(50.0)
def closure(x, rng):
    add = _outer()
    add(25.0 * x.sum())
    return add(25.0 * x.sum()) + rng.laplace()


@GROUP.right(1.0)
def method_of_an_object(x, rng):
    """An object that lives as long as the call."""
    return Model().fit(x).total + rng.laplace()
