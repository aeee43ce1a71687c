"""`dpcheck.audit`: the whole of `dpcheck audit` as one function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.audit_result import AuditReport
from dpcheck.core.data import Data, Output, Plain
from dpcheck.core.errors import InvalidParameter
from dpcheck.execution.parallel import Workers
from dpcheck.session.assertion import audit_function, one_claim
from dpcheck.session.made import made
from dpcheck.session.provenance import versions
from dpcheck.session.run import AuditRequest, run_request

Settings = Mapping[str, Plain] | Sequence[str]


def audit(
    target: str | Callable[..., Output],
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    claim: Plain = None,
    neighbours: Sequence[Data] = (),
    adjacency: Adjacency | str | None = None,
    variant: str | None = None,
    settings: Settings = (),
    confidence: float = 0.999,
    max_runs: int | None = None,
    seed: int = 0,
    tolerance: float = 0.25,
    timeout: float | None = None,
    time_limit: float | None = None,
    floating_point: bool = False,
    jobs: int = 1,
) -> AuditReport:
    """Audit a registered algorithm, `file.py:function`, or a function on given neighbours.

    A function needs `neighbours`, an `adjacency`, and epsilon (with delta) or `claim`.

    Guarantee: something that keeps its claim is violated with probability at most 1 - confidence.
    """
    if isinstance(target, str):
        if neighbours or claim is not None:
            raise InvalidParameter(
                "a target given by name states its own claim and neighbours; pass the function "
                "itself to give others.",
                name="neighbours",
            )
        request = AuditRequest(
            target,
            epsilon=epsilon,
            delta=delta,
            variant=variant,
            adjacency=None if adjacency is None else as_adjacency(adjacency),
            settings=_texts(settings),
            confidence=confidence,
            max_runs=max_runs,
            seed=seed,
            tolerance=tolerance,
            timeout=timeout,
            time_limit=time_limit,
            floating_point=floating_point,
            workers=Workers(jobs=jobs),
        )
        return run_request(request)
    if variant is not None or settings or floating_point:
        raise InvalidParameter(
            "variant, settings and floating_point are for targets given by name.", name="variant"
        )
    if adjacency is None:
        raise InvalidParameter(
            "say under which adjacency the datasets are neighbours.", name="adjacency"
        )
    entry = audit_function(
        target,
        claim=one_claim(epsilon, delta or 0.0, claim),
        neighbours=neighbours,
        adjacency=adjacency,
        confidence=confidence,
        seed=seed,
        max_runs=max_runs,
        tolerance=tolerance,
        timeout=timeout,
        time_limit=time_limit,
    )
    return AuditReport(seed, (entry,), confidence, versions(), made=made(Path.cwd()))


def _texts(settings: Settings) -> tuple[str, ...]:
    if isinstance(settings, Mapping):
        return tuple(f"{name}={value}" for name, value in settings.items())
    return tuple(settings)
