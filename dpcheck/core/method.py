"""How a figure of an audit was obtained. The values are what reports print."""

from __future__ import annotations

from enum import StrEnum


class Method(StrEnum):
    """The test or proof behind an observation or a line of the error budget."""

    EXACT_WITNESS = "exact witness"
    CERTIFIED_PAIR = "certified lower bound of a pair"
    REPLAY = "replay"
    NAMED_EVENT = "event named by replay"
    NOISE_SCALE = "noise-scale test"
    ONE_RUN_GUESSES = "one run, Steinke-Nasr-Jagielski"
    ONE_RUN_CURVE = "one run, f-DP"
    ONE_RUN_INDEPENDENT = "one run, independent scores"
    GUESSING_GAME = "guessing game"
    CONFIRMED_EVENT = "readable event, confirmed"
    EXACT_LOSS = "exact loss of an output"
    SAMPLED_LOSSES = "importance-sampled delta"
    DISTINGUISHER = "distinguisher"
    NO_TEST = "no test"
    NOT_SPENT = "not spent"


# Bounds from canaries in a training, or in a few.
ONE_RUN = frozenset({Method.ONE_RUN_GUESSES, Method.ONE_RUN_CURVE, Method.ONE_RUN_INDEPENDENT})
