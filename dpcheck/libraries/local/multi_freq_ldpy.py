"""multi-freq-ldpy: frequency estimation under local differential privacy, one or many attributes."""

from __future__ import annotations

import importlib
from typing import Any

from dpcheck.libraries.entry import Library

LIBRARY = Library(
    "multi-freq-ldpy",
    module="multi_freq_ldpy",
    requires=("multi-freq-ldpy", "xxhash<3.6", "scipy"),
    tried="0.2.5",
    says=":param epsilon: privacy guarantee;",
    place="docstring of each client function",
    reading="That a report is epsilon-private for any two values of one person, a whole tuple where "
    "there are several attributes, is ours.",
)
__getattr__ = LIBRARY.find
_EPSILON, _DOMAIN = 1.0, 4
_PERMANENT, _FIRST = 2.0, 1.0
_SIZES = [4, 4, 4]
_ONE_VALUE = [(1, 3)]
_WHOLE_TUPLE = [((1, 2, 3), (0, 0, 0))]  # one record, all of its attributes
_LONG = {
    "says": ":param eps_1: lower bound of privacy guarantee (a single report)",
    "reading": "That a person's first report alone is eps_1-private is ours.",
}
_BITS = {
    "says": ":param eps_perm: upper bound of privacy guarantee",
    "reading": "That a person's report is eps_perm-private is ours.",
}


def _plain(value: Any) -> Any:
    """A report as lists of numbers."""
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _support(report: Any, size: int) -> list[bool]:
    """Which values a hashed report (value, seed) speaks for: all that the aggregator reads of it."""
    import xxhash

    value, seed = report
    return [
        xxhash.xxh32(str(each), seed=int(seed)).intdigest() % size == value
        for each in range(_DOMAIN)
    ]


def _add(path: str, *fixed: Any, name: str = "", neighbours: Any = _ONE_VALUE, **more: Any) -> None:
    """A client function; `fixed` are its arguments after the value, `read` what is made of a report."""
    location, _, function = path.rpartition(".")
    read = more.pop("read", _plain)

    def report(value: Any, rng: Any) -> Any:  # noqa: ARG001 - draws from numpy's and numba's own
        module = importlib.import_module(f"multi_freq_ldpy.{location}")
        return read(getattr(module, function)(value, *fixed))

    claim = more.pop("claim", _EPSILON)
    LIBRARY.target(
        name or function, claim=claim, adjacency="replace-one", neighbours=neighbours, **more
    )(report)


_add("pure_frequency_oracles.GRR.GRR_Client", _DOMAIN, _EPSILON)
_add("pure_frequency_oracles.SS.SS_Client", 8, _EPSILON)
_add("pure_frequency_oracles.HE.HE_Client", _DOMAIN, _EPSILON)
_add("pure_frequency_oracles.ADP.ADP_Client", _DOMAIN, _EPSILON)
for _optimal, _word in ((True, "optimal"), (False, "symmetric")):
    _add("pure_frequency_oracles.UE.UE_Client", _DOMAIN, _EPSILON, _optimal, name=f"UE_{_word}")
for _optimal, _word, _size in ((True, "optimal", 4), (False, "binary", 2)):  # 4 is round(e) + 1
    _add(
        "pure_frequency_oracles.LH.LH_Client",
        _DOMAIN,
        _EPSILON,
        _optimal,
        name=f"LH_{_word}",
        read=lambda report, size=_size: _support(report, size),
    )

for _way in ("GRR", "OUE", "OSUE", "SUE", "SOUE", "ADP"):
    _add(f"long_freq_est.L_{_way}.L_{_way}_Client", _DOMAIN, _PERMANENT, _FIRST, **_LONG)
    for _split in ("SMP", "SPL"):
        _add(
            f"long_mdim_freq_est.L_{_split}_Solution.{_split}_L_{_way}_Client",
            _SIZES,
            3,
            _PERMANENT,
            _FIRST,
            neighbours=_WHOLE_TUPLE,
            **_LONG,
        )
_add(
    "long_freq_est.L_LH.L_LH_Client",
    _DOMAIN,
    _PERMANENT,
    _FIRST,
    False,  # two hash values
    read=lambda report: _support(report, 2),
    **_LONG,
)
_add(
    "long_freq_est.dBitFlipPM.dBitFlipPM_Client",
    _DOMAIN,
    4,
    2,
    _EPSILON,
    **_BITS,
)
for _split in ("SMP", "SPL"):
    _add(
        f"long_mdim_freq_est.L_{_split}_Solution.{_split}_dBitFlipPM_Client",
        _SIZES,
        [4, 4, 4],
        2,
        3,
        _EPSILON,
        neighbours=_WHOLE_TUPLE,
        **_BITS,
    )
    for _way in ("GRR", "UE", "LH", "SS", "ADP"):
        _sizes = [24, 24, 24] if _way == "SS" else _SIZES  # so that subsets have several values
        _read = {
            "SMP_LH": lambda report: [int(report[0]), *_support(report[1], 4)],
            "SPL_LH": lambda report: [
                _support(each, 2) for each in report
            ],  # 2 is round(e^1/3) + 1
        }
        _add(
            f"mdim_freq_est.{_split}_solution.{_split}_{_way}_Client",
            _sizes,
            3,
            _EPSILON,
            neighbours=_WHOLE_TUPLE,
            read=_read.get(f"{_split}_{_way}", _plain),
        )
for _way in ("GRR", "UE_zero", "UE_rnd", "ADP"):
    _add(
        f"mdim_freq_est.RSpFD_solution.RSpFD_{_way}_Client",
        _SIZES,
        3,
        _EPSILON,
        neighbours=_WHOLE_TUPLE,
        note="a neighbour differs in every attribute",
    )
