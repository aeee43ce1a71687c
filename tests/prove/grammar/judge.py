"""Prove a program under both adjacencies, and attack what was proved."""

from __future__ import annotations

import gc
import warnings
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

import dpcheck
from dpcheck.replay import examine
from dpcheck.replay.coin_game import play

from .attack import DELTA, compiled, sampled_delta, worst_pair
from .attack import pairs as pairs_of
from .programs import ROWS, Program

ADJACENCIES = ("replace-one", "add-remove")
_ROOM = 1e-6  # relative; what rounding of floats may add to a loss


@dataclass(frozen=True)
class Judgement:
    """What became of one program under one adjacency."""

    program: Program
    adjacency: str
    verdict: str  # "refused", "held", "broken" or "unaccounted"
    proved: float = 0.0
    attacked: float = 0.0
    delta: float = 0.0
    by: str = ""
    reason: str = ""
    replayed: str = ""  # what replay knew of the worst pair

    def __str__(self) -> str:
        return (
            f"{self.program.name} under {self.adjacency}: {self.verdict}; proved {self.proved:.6g} at "
            f"delta {self.delta:g}, attacked {self.attacked:.6g} by {self.by}\n{self.program.source}\n"
            f"{self.reason}"
        )


@contextmanager
def few_objects():
    """What lives already is left out where a proof looks for generators among all objects."""
    gc.collect()
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def prove(program: Program, adjacency: str):
    """A proof, or the refusal."""
    function = compiled(program.source)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return dpcheck.prove(
                function, data=np.zeros((ROWS, program.columns)), adjacency=adjacency
            )
        except dpcheck.NotProvable as refusal:
            return refusal


def judge(
    program: Program, adjacency: str, *, count: int = 40, replay: bool = True, runs: bool = False
) -> Judgement:
    """Attack by the twin, by replay of the worst pair, and with `runs` by a game of fresh runs."""
    proof = prove(program, adjacency)
    if isinstance(proof, dpcheck.NotProvable):
        return Judgement(program, adjacency, "refused", reason=str(proof))
    if program.latent:
        return _judge_sampled(program, adjacency, proof, count)
    loss, pair = worst_pair(program, adjacency, count)
    delta = DELTA if loss.gaussian or "normal" in program.source else 0.0
    proved = _charged(proof, delta)
    if proved is None:
        return Judgement(program, adjacency, "unaccounted", delta=delta)
    attacked, by = loss.epsilon(delta), "the twin"
    replayed = ""
    if replay and pair is not None and not _above(attacked, proved):
        finding = examine(compiled(program.source), pair)
        replayed = str(finding.kind)
        if finding.proved and finding.epsilon(delta).lower > attacked:
            attacked, by = finding.epsilon(delta).lower, "replay"
        if runs and not _above(attacked, proved) and finding.event is not None:
            game = play(
                compiled(program.source),
                pair,
                finding.event,
                epsilon=proved,
                delta=delta,
                alpha=1e-9,
            )
            if game.exceeds(proved):
                attacked, by = game.epsilon, "runs"
    verdict = "broken" if _above(attacked, proved) else "held"
    shown = "" if verdict == "held" else f"pair: {pair!r}\nreleases: {proof.releases!r}"
    return Judgement(program, adjacency, verdict, proved, attacked, delta, by, shown, replayed)


def _charged(proof, delta: float) -> float | None:
    """The proved epsilon; None where the accountant gives up on a sensitivity of 1e19."""
    try:
        return proof.epsilon(delta=delta).upper
    except (ValueError, OverflowError, MemoryError):
        return None


def _above(attacked: float, proved: float) -> bool:
    return attacked > proved * (1 + _ROOM) + 1e-9


def _judge_sampled(program: Program, adjacency: str, proof, count: int) -> Judgement:
    """Exact mixtures over the coins, at the delta that the proved epsilon is for."""
    proved = _charged(proof, DELTA)
    if proved is None:
        return Judgement(program, adjacency, "unaccounted", delta=DELTA)
    worst, shown = 0.0, None
    for pair in pairs_of(program, adjacency, max(4, count // 5)):
        seen = sampled_delta(program, *pair, proved)
        if seen is not None and seen > worst:
            worst, shown = seen, pair
    verdict = "broken" if worst > DELTA * (1 + 1e-3) else "held"
    reason = (
        ""
        if verdict == "held"
        else f"pair: {shown!r}: delta {worst:.6g} where {DELTA:g} was proved"
    )
    return Judgement(program, adjacency, verdict, proved, proved, DELTA, "mixtures", reason)
