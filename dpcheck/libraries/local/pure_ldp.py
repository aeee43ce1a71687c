"""pure-ldp: frequency oracles of local differential privacy."""

from __future__ import annotations

from functools import cache
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "pure-ldp",
    module="pure_ldp",
    requires=(  # it imports more than it declares
        "pure-ldp",
        "bitarray",
        "bitstring",
        "matplotlib",
        "pandas",
        "scikit-learn",
        "scipy",
        "seaborn",
        "statsmodels",
        "xxhash<3.6",
    ),
    tried="1.2.0",
    says="epsilon (float): Privacy budget",
    place="docstring of pure_ldp.core.FreqOracleClient, which every client extends",
    reading="That a report is epsilon-private for any two values of one person is ours.",
)
__getattr__ = LIBRARY.find
_EPSILON, _DOMAIN = 1.0, 4
_VALUES = [(1, 3)]  # what one person reports: any two values are neighbours


def _report(value: Any) -> Any:
    """A report as lists of numbers."""
    if isinstance(value, (int, float, str)):
        return value
    if isinstance(value, (tuple, list, zip)):
        return [_report(each) for each in value]
    return value.tolist()


@cache
def _client(kind: str) -> Any:
    """A client as its documentation makes it; hash functions come from its server."""
    from pure_ldp import frequency_oracles as oracles

    plain = {
        "DEClient": lambda: oracles.DEClient(_EPSILON, _DOMAIN),
        "SUEClient": lambda: oracles.UEClient(_EPSILON, _DOMAIN),
        "OUEClient": lambda: oracles.UEClient(_EPSILON, _DOMAIN, use_oue=True),
        "HEClient": lambda: oracles.HEClient(_EPSILON, _DOMAIN),
        "BLHClient": lambda: oracles.LHClient(_EPSILON, _DOMAIN),
        "OLHClient": lambda: oracles.LHClient(_EPSILON, _DOMAIN, use_olh=True),
        "FastLHClient": lambda: oracles.FastLHClient(_EPSILON, _DOMAIN, k=20, use_olh=True),
        "HadamardMechClient": lambda: oracles.HadamardMechClient(_EPSILON, _DOMAIN, t=2),
        "CMSClient": lambda: oracles.CMSClient(_EPSILON, _hashes(8), 8),
        "HCMSClient": lambda: oracles.CMSClient(_EPSILON, _hashes(8), 8, is_hadamard=True),
        "SketchResponseClient": lambda: oracles.SketchResponseClient(_EPSILON, 8, _hashes(8)),
        "HadamardResponseClient": lambda: oracles.HadamardResponseClient(_EPSILON, _DOMAIN, None),
        "PCSClient": lambda: oracles.PCSClient(_EPSILON, 2, 8, _pairs()),
        "RAPPORClient": lambda: oracles.RAPPORClient(
            _RAPPOR_F, 4, [[_hash(seed, 4)] for seed in range(2)], num_of_cohorts=2
        ),
    }
    return plain[kind]()


def _hash(seed: int, size: int) -> Any:
    import xxhash

    return lambda data: xxhash.xxh32(str(data), seed=seed).intdigest() % size


def _hashes(size: int) -> list[Any]:
    return [_hash(seed, size) for seed in range(2)]


def _pairs() -> list[Any]:
    """A place and a sign, hashed."""
    return list(zip(_hashes(8), _hashes(2), strict=True))


def _support(report: Any, size: int) -> list[bool]:
    """Which values a hashed report (value, seed) speaks for: all that its server reads of it."""
    value, seed = report
    return [_hash(int(seed), size)(each) == value for each in range(_DOMAIN)]


def _add(kind: str, **declared: Any) -> None:
    def privatise(value: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's and random's own
        report = _client(kind).privatise(value)
        if kind in ("BLHClient", "OLHClient"):
            return _support(report, _client(kind).g)
        return _report(report)

    words = {"claim": _EPSILON, "adjacency": "replace-one", "neighbours": _VALUES}
    LIBRARY.target(kind, **{**words, **declared})(privatise)


for _kind in (
    "DEClient",
    "SUEClient",
    "OUEClient",
    "HEClient",
    "BLHClient",
    "OLHClient",
    "FastLHClient",
    "HadamardMechClient",
    "HadamardResponseClient",
    "CMSClient",
    "HCMSClient",
    "SketchResponseClient",
    "PCSClient",
):
    _add(_kind)

_RAPPOR_F = 0.5


def _rappor_epsilon() -> float:
    return float(_client("RAPPORClient").convert_f_to_eps(_RAPPOR_F, 1))


_add(
    "RAPPORClient",
    claim=_rappor_epsilon,
    neighbours=[(1, 2), (1, 3), (2, 3)],
    says="Can be used to a certain RAPPORs epsilon value",
    place="docstring of pure_ldp.frequency_oracles.RAPPORClient.convert_f_to_eps",
    reading="The claim is what convert_f_to_eps(f=0.5, k=1) answers.",
)
