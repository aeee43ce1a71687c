"""RDP accountants side by side: values and times of dpcheck, dp-accounting and Opacus in one run.

    python benchmarks/accounting_rdp.py

Every peer that is installed takes part (dp-accounting comes with `dpcheck[dev]`, Opacus with
`dpcheck[opacus]`). Times are the median of several fresh computations, in one process, interleaved.
"""

from __future__ import annotations

import contextlib
import datetime
import platform
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import dpcheck
from dpcheck.accounting.renyi import moments

WORKLOADS = [  # noise, rate, steps, delta
    (1.1, 256 / 60000, 14063, 1e-5),
    (1.0, 0.01, 1000, 1e-5),
    (0.8, 0.01, 10_000, 1e-5),
    (6.0, 32 / 795, 8770, 1e-5),
    (6.0, 32 / 539, 5946, 1e-5),
    (0.6, 0.001, 100_000, 1e-5),
    (50.0, 1.0, 1000, 1e-5),
    (1.0, 0.01, 1000, 1e-10),
    (1000.0, 0.01, 1_000_000, 1e-10),
    (0.5, 1e-6, 1_000_000, 1e-10),
]
REPEATS = 15


def ours(noise: float, rate: float, steps: int, delta: float) -> float:
    for function in (moments.mixture_log_moments, moments.laplace_log_moment):
        function.cache_clear()  # every repetition computes afresh
    event = dpcheck.SampledGaussian(noise, rate) * steps
    return dpcheck.epsilon(event, delta=delta, adjacency="add-remove", method="rdp-optimal").upper


def google(noise: float, rate: float, steps: int, delta: float) -> float:
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant()
    step = dp_event.PoissonSampledDpEvent(rate, dp_event.GaussianDpEvent(noise))
    accountant.compose(step, steps)
    return float(accountant.get_epsilon(delta))


def opacus(noise: float, rate: float, steps: int, delta: float) -> float:
    from opacus.accountants import RDPAccountant

    accountant = RDPAccountant()
    accountant.history = [(noise, rate, steps)]
    return float(accountant.get_epsilon(delta))


def peers() -> dict[str, Callable[[float, float, int, float], float]]:
    found = {"dpcheck": ours}
    with contextlib.suppress(ImportError):
        import dp_accounting  # noqa: F401 - only whether it is there

        found["dp-accounting"] = google
    with contextlib.suppress(ImportError):
        import opacus as _  # noqa: F401 - only whether it is there

        found["opacus"] = opacus
    return found


def main() -> None:
    warnings.simplefilter("ignore")  # Opacus warns when the best order is at the end of its list
    accountants = peers()
    print(f"{platform.machine()}, Python {platform.python_version()}, {datetime.date.today()}")
    for name in accountants:
        package = {"dpcheck": "dpcheck", "dp-accounting": "dp_accounting"}.get(name, name)
        print(f"  {name} {_version(package)}")
    header = f"{'noise':>8}{'rate':>10}{'steps':>10}{'delta':>8}"
    print(header + "".join(f"{name + ' eps':>20}{'ms':>9}" for name in accountants))
    ratios: dict[str, list[float]] = {name: [] for name in accountants}
    looser = []
    for workload in WORKLOADS:
        times: dict[str, list[float]] = {name: [] for name in accountants}
        values = {}
        for _ in range(REPEATS):
            for name, account in accountants.items():
                start = time.perf_counter()
                values[name] = account(*workload)
                times[name].append(time.perf_counter() - start)
        medians = {name: statistics.median(seconds) for name, seconds in times.items()}
        noise, rate, steps, delta = workload
        row = f"{noise:>8g}{rate:>10.3g}{steps:>10,}{delta:>8.0e}"
        print(row + "".join(f"{values[n]:>20.6f}{medians[n] * 1e3:>9.2f}" for n in accountants))
        for name in accountants:
            ratios[name].append(medians[name] / medians["dpcheck"])
            if values["dpcheck"] > values[name] * (1 + 1e-9):
                looser.append((name, workload))
    for name in accountants:
        if name != "dpcheck":
            print(
                f"{name}: {statistics.median(ratios[name]):.1f}x dpcheck's time (median; "
                f"{min(ratios[name]):.1f}x to {max(ratios[name]):.1f}x)"
            )
    print(f"dpcheck looser than a peer in {len(looser)} cases {looser or ''}")
    _startup()


def _startup() -> None:
    """`dpcheck --help` against `import click`, best of several."""

    def best(code: str) -> float:
        seconds = []
        for _ in range(9):
            start = time.perf_counter()
            subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
            seconds.append(time.perf_counter() - start)
        return min(seconds)

    base = best("import click")
    shown = best(
        "import sys; sys.argv = ['dpcheck', '--help']\nfrom dpcheck.cli.main import run; run()"
    )
    print(
        f"dpcheck --help {shown * 1e3:.0f} ms, import click {base * 1e3:.0f} ms: {shown / base:.2f}x"
    )


def _version(package: str) -> str:
    from importlib.metadata import version

    return version(package.replace("_", "-"))


if __name__ == "__main__":
    main()
