"""Clocks, sleeps, files that are only read and logging do not end the following of noise."""

from __future__ import annotations

import hashlib
import json
import logging
import time
from time import perf_counter, sleep

import numpy as np
import pandas as pd
import pytest

from dpcheck.replay import FindingKind, examine

PAIR = ([0.0], [1.0])
LOG = logging.getLogger(__name__)


def exact(function):
    finding = examine(function, PAIR)
    assert finding.kind is FindingKind.EXACT, finding.hints
    return finding.epsilon().lower


def test_a_clock_that_is_only_read():
    def timed(data, rng):
        began = perf_counter()
        noisy = data[0] + rng.laplace(scale=0.5)
        LOG.info("took %.3f s", time.time() - began)
        return noisy

    assert exact(timed) == pytest.approx(2.0)


def test_sleeping_takes_no_time():
    def patient(data, rng):
        sleep(1e5)
        time.sleep(1e5)
        return data[0] + rng.laplace(scale=0.5)

    began = time.perf_counter()
    assert exact(patient) == pytest.approx(2.0)
    assert time.perf_counter() - began < 1e5
    assert time.sleep is sleep  # put back
    assert time.perf_counter is perf_counter


def test_logging_and_printing_a_noisy_value(capsys):
    def chatty(data, rng):
        noisy = data[0] + rng.laplace(scale=0.5)
        LOG.warning("answer %s", noisy)
        print("answer", noisy)
        print("done")
        return noisy

    assert exact(chatty) == pytest.approx(2.0)
    assert "done" in capsys.readouterr().out


def test_files_that_are_only_read(tmp_path):
    settings = tmp_path / "settings.json"
    settings.write_text('{"scale": 0.5}')
    (tmp_path / "weights.csv").write_text("city,weight\nUlm,1.0\n")

    pd.read_csv(
        tmp_path / "weights.csv"
    )  # the first time pandas asks the system for its processors

    def configured(data, rng):
        with open(settings) as stream:
            scale = json.load(stream)["scale"]
        scale = json.loads(settings.read_text())["scale"] * scale / scale
        weight = float(pd.read_csv(tmp_path / "weights.csv")["weight"].iloc[0])
        return weight * data[0] + rng.laplace(scale=scale)

    assert exact(configured) == pytest.approx(2.0)


def nothing_proved(function):
    finding = examine(function, PAIR)
    assert not finding.proved
    assert finding.epsilon().lower == 0


def test_files_that_change(tmp_path):
    counter = tmp_path / "counter"
    counter.write_text("0")

    def counting(data, rng):
        number = int(counter.read_text()) + 1
        counter.write_text(str(number))
        return data[0] + number + rng.laplace(scale=0.5)

    nothing_proved(counting)


def test_devices_are_no_files():
    def entropy(data, rng):
        with open("/dev/urandom", "rb") as stream:
            return data[0] + stream.read(1)[0]

    nothing_proved(entropy)


@pytest.mark.parametrize("clock", ["time", "time_ns", "perf_counter", "monotonic", "process_time"])
def test_noise_made_of_the_clock_proves_nothing(clock):
    def by_the_clock(data, rng):
        return data[0] + hash(getattr(time, clock)()) % 1000 / 500

    def seeded(data, rng):
        digest = hashlib.sha256(str(getattr(time, clock)()).encode()).digest()
        return data[0] + np.random.default_rng(list(digest)).laplace()

    for function in (by_the_clock, seeded):
        nothing_proved(function)
