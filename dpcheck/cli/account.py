"""`dpcheck account MECHANISM`: what it spends, by every accountant, and the one we stand behind."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import NoReturn

import click
import numpy as np
from scipy.optimize import minimize_scalar

from dpcheck.accounting.api import epsilon, verify_epsilon
from dpcheck.accounting.explain import Explanation, by_method, explain_epsilon, loss_law
from dpcheck.accounting.renyi.closed_forms import sampled_gaussian_theorem
from dpcheck.accounting.renyi.conversion import classic
from dpcheck.accounting.risk import attack_risk
from dpcheck.cli.accounting.events import (
    KINDS,
    Number,
    adjacency_or_natural,
    mechanism_options,
    read_event,
    repetitions,
)
from dpcheck.cli.flags import Flag
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Plain
from dpcheck.core.errors import TheoremConditionViolated, UsageError
from dpcheck.core.events.event import Event
from dpcheck.core.events.guarantee import NotPrivate
from dpcheck.core.events.serialize import to_dict
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.extras import require
from dpcheck.core.validate import non_negative
from dpcheck.execution.progress import Progress

SCHEMA = "dpcheck.account/1"
_LABELS = {
    "theorem-1": "theorem 1 (closed form)",
    "pure": "pure DP",
    "variation": "total variation within delta",
    "gdp": "Gaussian, exact",
    "optimal-composition": "optimal composition",
    "rdp-classic": "RDP classic",
    "rdp-improved": "RDP improved",
    "rdp-optimal": "RDP optimal",
    "pld": "privacy-loss distribution",
    "selection": "selection, from one run",
}


@click.command(
    name="account",
    epilog=f"MECHANISM is one of {', '.join(KINDS)}, dpda, g_dpda, or a .json file with an event.",
)
@mechanism_options
@click.option("--steps", type=int, help="How many steps are taken.")
@click.option("--epochs", type=int, help="Passes over the data (sampled mechanisms).")
@click.option("--delta", type=Number(), default=0.0, help="The delta to account at.")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Draw epsilon against delta into this .svg, .png or .pdf file; with --explain also the "
    "privacy-loss distribution and how epsilon moves.",
)
@click.option(
    "--explain",
    is_flag=True,
    help="Say which method proved it, what drives it, and how it changes.",
)
@click.option("--claim", type=Number(), help="An epsilon to compare with the bounds.")
@click.option(
    "--accuracy",
    type=Number(),
    help="Refine both bounds until they differ by at most this share of epsilon, such as 1e-6.",
)
@click.option("--verify", is_flag=True, help="Check the answer again in ball arithmetic.")
@click.option(
    "--certificate",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write the proof of the upper bound into this file, for 'dpcheck verify'.",
)
@click.option("--risk", is_flag=True, help="Also show what an attacker can gain.")
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text")
def command(
    mechanism: str,
    steps: int | None,
    epochs: int | None,
    delta: float,
    adjacency: str | None,
    plot: Path | None,
    explain: bool,
    claim: float | None,
    accuracy: float | None,
    verify: bool,
    certificate: Path | None,
    risk: bool,
    layout: str,
    **options: Flag,
) -> None:
    """Bound the epsilon that MECHANISM spends at --delta, with a proof.

    Example: dpcheck account sampled-gaussian --noise 6 --rate 32/539 --epochs 353 --delta 1e-5
    """
    if mechanism.replace("-", "_") in ("dpda", "g_dpda"):
        from dpcheck.cli.accounting import dpda

        given = options | {"steps": steps, "epochs": epochs, "adjacency": adjacency}
        dpda.account(mechanism.replace("-", "_"), given, delta, layout)
        return
    if plot is not None:
        require(("matplotlib",), "report")
    if claim is not None:
        non_negative("claim", claim)
    step = read_event(mechanism, options)
    times = repetitions(steps, epochs, step)
    event = step if times == 1 else step * times
    relation = adjacency_or_natural(adjacency, event)
    answer = epsilon(event, delta=delta, adjacency=relation, accuracy=accuracy)
    if delta == 0 and math.isinf(answer.upper) and not isinstance(step, NotPrivate):
        _ask_for_more(options)
    rows = _rows(step, times, delta, answer)
    gains = attack_risk(event, adjacency=relation) if risk else None
    why = explain_epsilon(event, delta, relation) if explain else None
    if layout == "json":
        found = as_json(event, delta, answer, rows)
        if gains is not None:
            found["risk"] = gains.to_dict()
        if why is not None:
            found["explanation"] = why.to_dict()
        if claim is not None:
            found["claim"] = {"epsilon": claim, "verdict": judged(answer, claim)}
        click.echo(json.dumps(found, indent=2))
    else:
        click.echo(as_text(step, times, delta, answer, rows, _digits(accuracy)))
        if gains is not None:
            click.echo(f"\nwhat an attacker can gain:\n{gains}")
        if why is not None:
            click.echo(f"\n{why}")
        if claim is not None:
            click.echo(f"\n{_claim_line(answer, claim)}")
    if verify:
        with Progress() as progress:
            progress.stage("proving it again in ball arithmetic: seconds to minutes")
            again = verify_epsilon(event, delta=delta, adjacency=relation)
        click.echo(
            f"verified in ball arithmetic: epsilon in [{again.lower:.6g}, {again.upper:.6g}]",
            err=True,
        )
    if certificate is not None:
        certificate.write_text(json.dumps(answer.certificate(), allow_nan=False) + "\n", "utf-8")
        click.echo(
            f"certificate written to {certificate}; check it with 'dpcheck verify'", err=True
        )
    if plot is not None:
        _draw(event, answer, (delta, claim), why, _title(step, times), plot)
        click.echo(f"{'explanation' if why else 'curve'} written to {plot}", err=True)


def _ask_for_more(options: dict[str, Flag]) -> NoReturn:
    """At delta 0 no epsilon is finite: name the flag that changes this."""
    if options.get("noise") == 0:
        raise UsageError("nothing is private without noise: --noise must be above 0.")
    raise UsageError(
        "this mechanism has no finite epsilon at delta 0. Add the delta you allow, such as --delta 1e-5."
    )


def _rows(step: Event, times: int, delta: float, answer: Bound) -> list[tuple[str, float, str]]:
    """What every accountant proves; the one that was refined says what it says then."""
    assert answer.adjacency is not None
    event = step if times == 1 else step * times
    rows = [
        (name, min(value, answer.upper) if name == answer.method else value, note)
        for name, value, note in by_method(event, delta, answer.adjacency)
    ]
    if isinstance(step, SampledGaussian):
        rows = [theorem_row(step, times, delta, answer.adjacency), *rows]
    return rows


def _digits(accuracy: float | None) -> int:
    return 6 if accuracy is None else max(6, math.ceil(-math.log10(accuracy)) + 3)


def _draw(
    event: Event,
    answer: Bound,
    asked: tuple[float, float | None],
    why: Explanation | None,
    title: str,
    path: Path,
) -> None:
    from dpcheck.cli.accounting.plot import draw_curve, draw_explanation

    assert answer.adjacency is not None
    delta, claim = asked
    if why is None:
        draw_curve(event, answer.adjacency, delta, title, path)
    else:
        draw_explanation(why, loss_law(event, answer.adjacency), claim, title, path)


def judged(answer: Bound, claim: float) -> str:
    """What the two bounds say about a claimed epsilon; certified numbers need no slack."""
    if answer.upper <= claim:
        return "holds"
    return "violated" if answer.lower > claim else "undecided"


def _claim_line(answer: Bound, claim: float) -> str:
    verdict = judged(answer, claim)
    words = {
        "holds": "holds: the upper bound is no larger",
        "violated": "does not hold for some mechanism of this description: the lower bound is larger",
        "undecided": "is neither proved nor refuted: it lies between the bounds",
    }
    return f"the claim epsilon {claim:g} {words[verdict]}."


def theorem_row(
    step: SampledGaussian, times: int, delta: float, adjacency: Adjacency
) -> tuple[str, float, str]:
    """The closed-form theorem with the classic conversion at its best admissible order."""
    if adjacency is Adjacency.REPLACE_ONE:
        return "theorem-1", math.inf, "stated for sensitivity C; replace-one has 2C"
    if delta <= 0:
        return "theorem-1", math.inf, "needs delta above 0"
    noise, rate = step.noise_multiplier, step.sampling_rate
    if not noise or not rate:
        return "theorem-1", math.inf, "needs noise and a sample"
    refusal = ""

    def cost(log_excess: float) -> float:
        nonlocal refusal
        order = 1 + math.exp(log_excess)
        try:
            divergence = times * sampled_gaussian_theorem(noise, rate, order)
        except TheoremConditionViolated as error:
            refusal = f"needs {error.data['condition']}"
            return math.inf
        return float(classic(np.array([order]), np.array([divergence]), delta)[0])

    grid = np.linspace(math.log(1e-2), math.log(1e4), 400)
    values = [cost(point) for point in grid]
    best = int(np.argmin(values))
    if math.isinf(values[best]):
        return "theorem-1", math.inf, refusal
    near = minimize_scalar(
        cost, bounds=(grid[max(0, best - 1)], grid[min(399, best + 1)]), method="bounded"
    )
    return "theorem-1", min(values[best], float(near.fun)), "with the classic conversion"


def as_json(
    event: Event, delta: float, answer: Bound, rows: list[tuple[str, float, str]]
) -> dict[str, Plain]:
    """The machine-readable answer; infinity is the string "inf"."""
    return {
        "schema": SCHEMA,
        "event": to_dict(event),
        "adjacency": str(answer.adjacency),
        "delta": delta,
        "epsilon": {
            "lower": _finite(answer.lower),
            "upper": _finite(answer.upper),
            "method": answer.method,
        },
        "methods": [
            {"method": method, "epsilon": _finite(value), "note": note}
            for method, value, note in rows
        ],
        "assumes": list(answer.assumes),
    }


def _finite(value: float) -> float | str:
    return value if math.isfinite(value) else "inf"


def _title(step: Event, times: int) -> str:
    return f"{step}" + (f" x {times:,}" if times > 1 else "")


def as_text(
    step: Event,
    times: int,
    delta: float,
    answer: Bound,
    rows: list[tuple[str, float, str]],
    digits: int = 6,
) -> str:
    """The table a person reads."""
    lines = [
        _title(step, times),
        f"adjacency {answer.adjacency}, delta {delta:g}",
        "",
        f"  {'method':<28}{'epsilon':>12}",
    ]
    for method, value, note in rows:
        mark = "  <- dpcheck stands behind this one" if method == answer.method else ""
        tail = mark or (f"  {note}" if note else "")
        lines.append(f"  {_LABELS.get(method, method):<28}{_show(value):>12}{tail}")
    ends = [_show(end, digits) for end in (answer.lower, answer.upper)]
    lines += ["", f"epsilon is between {ends[0]} and {ends[1]}."]
    if math.isinf(answer.upper):
        lines.append("No accountant proves a finite bound: " + _advice(step, delta))
    lines += [f"assumes: {text}" for text in answer.assumes]
    return "\n".join(lines)


def _advice(step: Event, delta: float) -> str:
    if delta == 0 and not isinstance(step, NotPrivate):
        return "if this mechanism is not pure DP, give --delta above 0."
    return "see what is assumed below."


def _show(value: float, digits: int = 6) -> str:
    return "inf" if math.isinf(value) else f"{value:.{digits}g}"
