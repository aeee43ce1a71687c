"""dp-accounting's PLD accountant answers below the exact epsilon at small delta.

    python benchmarks/findings/dp_accounting_pld_small_delta.py

Full-batch Gaussian steps (sampling probability 1) compose to one Gaussian of mu = sqrt(T)/noise, whose
epsilon is a closed form, evaluated here at 50 digits. The library composes them by an FFT in double
precision, whose rounding it does not count: at small delta the tail is no larger than that rounding,
and what is meant as a pessimistic estimate is below the truth. Exits 1 when it is.
"""

import sys
from importlib.metadata import version

import mpmath
from dp_accounting import dp_event
from dp_accounting.pld import PLDAccountant

import dpcheck

CASES = [
    (100.0, 10_000, 1e-8),
    (100.0, 10_000, 1e-10),
    (100.0, 10_000, 1e-12),
    (100.0, 10_000, 1e-14),
    (23.2, 248, 1e-10),
]


def exact_epsilon(noise: float, steps: int, delta: float) -> float:
    with mpmath.workdps(50):
        mu = mpmath.sqrt(steps) / mpmath.mpf(noise)
        low, high = mpmath.mpf(0), mpmath.mpf(100)
        for _ in range(150):
            e = (low + high) / 2
            now = mpmath.ncdf(mu / 2 - e / mu) - mpmath.exp(e) * mpmath.ncdf(-mu / 2 - e / mu)
            low, high = (e, high) if now > mpmath.mpf(delta) else (low, e)
        return float(high)


def main() -> int:
    print(f"dp-accounting {version('dp-accounting')}, dpcheck {dpcheck.__version__}, add-remove")
    print(
        f"{'noise':>6} {'steps':>6} {'delta':>7} {'library':>10} {'exact':>10}   certified by dpcheck"
    )
    wrong = False
    for noise, steps, delta in CASES:
        accountant = PLDAccountant()
        step = dp_event.PoissonSampledDpEvent(1.0, dp_event.GaussianDpEvent(noise))
        accountant.compose(step, steps)
        answer, truth = accountant.get_epsilon(delta), exact_epsilon(noise, steps, delta)
        ours = dpcheck.epsilon(
            dpcheck.SampledGaussian(noise, 1.0) * steps, delta=delta, adjacency="add-remove"
        )
        below = answer < truth * (1 - 1e-6)
        wrong |= below
        print(
            f"{noise:>6g} {steps:>6} {delta:>7.0e} {answer:>10.6f} {truth:>10.6f}   "
            f"[{ours.lower:.6f}, {ours.upper:.6f}]{'  below' if below else ''}"
        )
    print("below the exact value" if wrong else "never below")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
