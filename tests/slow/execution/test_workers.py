"""Whatever a target is made of, any number of workers gives what one process gives."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from dpcheck.auditing.mechanism import Mechanism, as_mechanism
from dpcheck.core.errors import NotTransferable, UnfitSignature, WorkerDied
from dpcheck.execution import imports, parallel
from dpcheck.execution.parallel import Workers, run
from dpcheck.execution.pools import died
from dpcheck.execution.runner import Runner
from dpcheck.execution.seeds import generator, stream
from dpcheck.execution.store import MemoryStore
from dpcheck.execution.tasks import Stage, pack
from dpcheck.session.targets import plan_target

TARGETS = """
import functools
import numpy as np
import dpcheck
from helpers import Box, SCALE


class Record:
    def __init__(self, value):
        self.value = value


def audited(function, pair=(0.0, 1.0)):
    return dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[pair])(function)


own_class = audited(lambda data, rng: data.value + rng.laplace(), (Record(0.0), Record(1.0)))
sibling_class = audited(lambda data, rng: data.value + rng.laplace(), (Box(0.0), Box(1.0)))


def outer():
    scale = SCALE

    def inner(data, rng):
        return data + rng.laplace(scale=scale)

    return inner


closure = audited(outer())
partial = audited(functools.partial(lambda scale, data, rng: data + scale * rng.laplace(), 1.0))


class Machine:
    def __call__(self, data, rng):
        return data + rng.laplace()

    @audited
    def method(self, data, rng):
        return data + rng.laplace()


machine = audited(Machine())


@audited
def density(data, rng):
    return data + rng.laplace()


density.log_density = lambda data, output: -abs(output - data) + 0 * SCALE


@audited
def late(data, rng):
    from later import SHIFT
    return data + SHIFT + rng.laplace()


@audited
def alone(data):
    return data + np.random.laplace()
"""
NAMES = [
    *("own_class", "sibling_class", "closure", "partial", "machine", "machine.method"),
    *("density", "late", "alone"),
]


@pytest.fixture
def targets(tmp_path, monkeypatch):
    monkeypatch.chdir(os.path.dirname(__file__))  # not the folder of the target
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "mech.py").write_text(TARGETS)
    (folder / "helpers.py").write_text(
        "SCALE = 1.0\n\n\nclass Box:\n    def __init__(self, value):\n        self.value = value\n"
    )
    (folder / "later.py").write_text("SHIFT = 2.0\n")
    imports.forget_all()
    yield folder
    imports.forget_all()


def outputs(mechanism, data, size, seed):
    found = {"x": mechanism.sample(data, size, generator(seed))}
    if mechanism.log_density is not None:
        found["density"] = mechanism.log_density(data, found["x"])
    return found


def drawn(folder, name, workers):
    text = f"{folder / 'mech.py'}:{name}"
    plan, _ = plan_target(text, epsilon=None, delta=None, timeout=None)
    runner = Runner(seed=1, workers=workers)
    batches = runner.batches("s", range(6), outputs, plan.mechanism, plan.pairs[0].second, 4)
    return [np.concatenate([each[key] for key in sorted(each)], axis=None) for each in batches]


def test_targets_of_every_make_run_in_workers(targets):
    for name in NAMES:
        serial = drawn(targets, name, Workers(1))
        assert len(np.unique(serial)) > 20
        assert np.array_equal(drawn(targets, name, Workers(2)), serial), name


def test_two_folders_may_have_helpers_of_the_same_name(targets, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    text = "import helpers\n\n\ndef f(data, rng):\n    import helpers as again\n"
    text += "    return helpers.SCALE + again.SCALE\n"
    (other / "mech.py").write_text(text)
    (other / "helpers.py").write_text("SCALE = 50.0\n")
    first = drawn(targets, "late", Workers(1))
    module = imports.load(str(other / "mech.py"))
    assert module.f(0, None) == 100.0
    assert np.array_equal(drawn(targets, "late", Workers(1)), first)


def test_a_library_does_not_find_files_of_the_project(targets):
    (targets / "lz4.py").write_text("raise AssertionError('imported by a library')\n")
    imports.load(str(targets / "mech.py"))
    with pytest.raises(ModuleNotFoundError):
        __import__("lz4")


def test_a_worker_loads_a_file_that_was_changed_again(targets):
    before = drawn(targets, "closure", Workers(2))
    (targets / "mech.py").write_text(TARGETS.replace("scale = SCALE", "scale = 2 * SCALE"))
    imports.forget_all()
    after = drawn(targets, "closure", Workers(2))
    assert not np.array_equal(before, after)
    assert np.array_equal(after, drawn(targets, "closure", Workers(1)))


def vanish(seed):
    os._exit(7)


def test_a_worker_that_vanishes_is_named_with_its_exit_code():
    named = [(str(i), stream(0, i)) for i in range(2)]
    with pytest.raises(WorkerDied, match=r"exit code 7.*os\._exit"):
        list(run(Stage(vanish, ()), named, Workers(2), MemoryStore()))


def test_what_a_dead_worker_died_of():
    told = "The exit codes of the workers are {%s}"
    assert "SIGSEGV" in died(told % "SIGSEGV(-11)", memory=False).message
    assert "out of memory" in died(told % "SIGKILL(-9)", memory=True).message
    assert "memory limit" in died(told % "SIGKILL(-9), SIGTERM(-15)", memory=False).message


def test_what_cannot_be_sent_is_refused_with_a_way_out(tmp_path):
    with (tmp_path / "x").open("w") as stream_, pytest.raises(NotTransferable, match="jobs=1"):
        pack(Stage(outputs, (stream_,)))


@pytest.mark.parametrize(
    ("function", "wanted"),
    [
        (lambda data: data, 3.0),
        (lambda data, rng: data + (rng is not None), 4.0),
        (lambda data, epsilon=1.0: data * epsilon, 3.0),
        (lambda data, epsilon=1.0, rng=None: data + (rng is not None), 4.0),
        (lambda data, *, rng: data + (rng is not None), 4.0),
        (lambda data, seed: data + isinstance(seed, int), 4.0),
        (lambda data, seed=7: seed, 7.0),
        (lambda data, random_state=None: data + (random_state is not None), 4.0),
        (lambda *arguments: len(arguments), 2.0),
    ],
)
def test_functions_are_called_the_way_they_are_written(function, wanted):
    found = as_mechanism(function).sample(3.0, 2, generator(stream(0, 0)))
    assert found.tolist() == [[wanted], [wanted]]


@pytest.mark.parametrize(
    "function",
    [lambda: 0, lambda data, rng, more: 0, lambda data, *, more: 0, lambda data, rng, *, more: 0],
)
def test_functions_that_want_something_else_are_refused(function):
    with pytest.raises(UnfitSignature, match=r"functools\.partial"):
        as_mechanism(function)


def quick(seed):
    return {"x": generator(seed).normal(size=2)}


class Counting:
    """A pool that runs here and remembers how many batches every task had."""

    width, is_local = 2, True

    def __init__(self):
        self.sizes = []

    def ship(self, parcel):
        return parcel

    def submit(self, function, parcel, around, seeds):
        from concurrent.futures import Future

        self.sizes.append(len(seeds))
        future = Future()
        future.set_result(replace(function(parcel, around, seeds), seconds=1e-3 * len(seeds)))
        return future

    def diagnose(self, error):
        return error

    def stop(self):
        pass


def test_short_batches_are_grouped_and_give_the_same(monkeypatch):
    pool = Counting()
    monkeypatch.setattr(Workers, "pool", lambda self: pool)
    named = [(str(i), stream(0, i)) for i in range(400)]
    stage = Stage(quick, ())
    found = [each["x"] for each in run(stage, named, Workers(2), MemoryStore())]
    wanted = [each["x"] for each in run(stage, named, Workers(1), MemoryStore())]
    assert np.array_equal(found, wanted)
    assert sum(pool.sizes) == 400
    assert len(pool.sizes) <= 12  # a message costs as much as ten of these batches
    assert max(pool.sizes) <= 100  # never so many that a worker is left without
    assert pool.sizes[-1] <= 50  # all end within a twentieth of a second


def test_who_stops_reading_wastes_little(monkeypatch):
    pool = Counting()
    monkeypatch.setattr(Workers, "pool", lambda self: pool)
    monkeypatch.setattr(parallel, "_PACES", type(parallel._PACES)())
    named = [(str(i), stream(1, i)) for i in range(400)]
    results = run(Stage(quick, ()), named, Workers(2), MemoryStore())
    next(results)
    results.close()
    assert sum(pool.sizes) <= 4


def fails_at_the_fourth(seed):
    if seed.spawn_key[-1] == 3:
        raise WorkerDied("the fourth")
    time.sleep(0.001)
    return quick(seed)


def test_batches_before_a_failure_are_kept():
    class Keeping(MemoryStore):
        kept = ()

        def put(self, name, arrays):
            self.kept += (name,)

    store = Keeping()
    named = [(str(i), stream(0, i)) for i in range(8)]
    with pytest.raises(WorkerDied, match="the fourth"):
        list(run(Stage(fails_at_the_fourth, ()), named, Workers(2), store))
    assert store.kept == ("0", "1", "2")


def test_large_parcels_go_through_a_file_once():
    data = np.arange(200_000.0)
    mechanism = Mechanism(lambda data, size, rng: data[:size] + rng.normal(size=size), True)
    runner = Runner(seed=2, workers=Workers(2))
    spread = [b["x"] for b in runner.batches("s", range(4), outputs, mechanism, data, 3)]
    serial = Runner(seed=2).batches("s", range(4), outputs, mechanism, data, 3)
    assert np.array_equal(spread, [b["x"] for b in serial])


def test_a_worker_told_to_give_memory_back_keeps_it_while_batches_run():
    """As dask tells its workers; page faults are counted, by the system, in a process of its own."""
    program = (
        "import resource, sys\n"
        "import numpy as np\n"
        "from contextlib import nullcontext\n"
        "from dpcheck.execution.memory import memory_kept\n"
        "def faults():\n"
        "    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt\n"
        "for around in (nullcontext, memory_kept, nullcontext):\n"
        "    with around():\n"
        "        np.ones(1 << 16) + 1\n"
        "        before = faults()\n"
        "        for _ in range(50):\n"
        "            np.ones(1 << 16) + 1\n"
        "        print(faults() - before)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"MALLOC_TRIM_THRESHOLD_": "65536"},
        capture_output=True,
        text=True,
        check=True,
    )
    before, inside, after = map(int, done.stdout.split())
    assert before > 5000  # 128 pages an array
    assert inside < 200
    assert after > 5000  # the worker is as it was


@pytest.mark.parametrize(
    ("pace", "left", "width", "batches"),
    [
        (None, 100, 2, 1),  # nothing is known yet
        (1e-3, 10_000, 2, 250),  # a quarter of a second
        (1e-3, 400, 2, 100),  # two more for each worker
        (1e-3, 20, 2, 50),  # not below a twentieth: all that are left
        (1.0, 10, 2, 1),
        (1e-3, 10**8, 1000, 20_000),  # twenty seconds: 50 tasks a second for the scheduler
    ],
)
def test_tasks_are_as_long_as_messages_and_scheduler_want(monkeypatch, pace, left, width, batches):
    monkeypatch.setattr(parallel, "_PACES", {} if pace is None else {"stage": pace})
    assert parallel._group("stage", left, width) == batches
