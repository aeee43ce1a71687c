"""`dpcheck account dpda` and `g_dpda`: what [Wang2020] claims beside what its releases cost."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import click

from dpcheck.accounting.api import epsilon
from dpcheck.accounting.calibrate import steps_in
from dpcheck.cli.account import SCHEMA, theorem_row
from dpcheck.cli.flags import Flags
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.bound import Bound
from dpcheck.core.data import Plain
from dpcheck.core.errors import UsageError
from dpcheck.core.events.training import SampledGaussian
from dpcheck.core.validate import count, open_probability, positive, rate


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table."""

    what: str
    epsilon: float
    delta: float
    method: str
    lower: float = 0.0
    note: str = ""


def account(name: str, given: Flags, delta: float, layout: str) -> None:
    """Print the account of DPDA, or of G-DPDA's source and target.

    Needs --noise, --batch, --rows and --epochs (or --steps), and --delta above 0.
    """
    noise, batch, rows = (given.get(key) for key in ("noise", "batch", "rows"))
    if noise is None or batch is None or rows is None:
        raise UsageError(f"{name} needs --noise, --batch, --rows and --epochs.")
    if given.get("adjacency") not in (None, "add-remove"):
        raise UsageError(f"{name} claims add-remove, and is accounted under it here.")
    open_probability("delta", delta)
    sampling = rate("batch / rows", count("batch", batch) / count("rows", rows))
    steps, epochs = given.get("steps"), given.get("epochs")
    if (steps is None) == (epochs is None):
        raise UsageError(f"{name} needs either --epochs or --steps.")
    times = count("steps", steps) if epochs is None else steps_in(epochs, rows / batch)
    single = SampledGaussian(positive("noise", noise), sampling)
    parts = {"target": target_rows(single, times, delta)}
    if name == "g_dpda":
        parts["source"] = source_rows(single, times, delta)
    if layout == "json":
        click.echo(json.dumps(_as_json(name, single, times, parts), indent=2))
        return
    click.echo(f"{name}: {single} x {times:,}, add-remove neighbours")
    for part, lines in parts.items():
        click.echo(f"\n{part}")
        for line in lines:
            low = f" (at least {line.lower:.6g})" if line.lower else ""
            shown = "inf" if math.isinf(line.epsilon) else f"{line.epsilon:.6g}"
            click.echo(
                f"  {line.what:<44}{shown:>10} @ {line.delta:g}  {line.method}{low}"
                + (f"  {line.note}" if line.note else "")
            )
    click.echo(
        "\nA target batch moves two blocks, the domain classifier and the extractor, each clipped to C "
        "with\nits own noise sigma C: one joint release of sensitivity sqrt(2) C, so its noise is "
        "sigma/sqrt(2).\nClipping both together to C makes the first lines true."
    )


def _bound(event: SampledGaussian, times: int, delta: float, method: str = "best") -> Bound:
    return epsilon(event * times, delta=delta, adjacency=Adjacency.ADD_REMOVE, method=method)


def joint(step: SampledGaussian) -> SampledGaussian:
    """Two blocks of sensitivity C each, as the one release they are."""
    return SampledGaussian(step.noise_multiplier / math.sqrt(2), step.sampling_rate)


def target_rows(step: SampledGaussian, times: int, delta: float) -> list[Row]:
    """The claim and the truth about the target."""
    _, theorem, note = theorem_row(step, times, delta, Adjacency.ADD_REMOVE)
    rows = [Row("theorem 1 of the paper", theorem, delta, "closed form", note=note)]
    rows.append(_row("claimed: exact RDP, classic conversion", step, times, delta, "rdp-classic"))
    rows.append(_row("one block, tight", step, times, delta))
    rows.append(_row("joint release, RDP classic", joint(step), times, delta, "rdp-classic"))
    rows.append(_row("joint release, tight: what it costs", joint(step), times, delta))
    return rows


def source_rows(step: SampledGaussian, times: int, delta: float) -> list[Row]:
    """The claim (2 eps, 2 delta) and the truth about the source, which is in two phases."""
    claimed = _bound(step, times, delta, "rdp-classic").upper
    return [
        Row("claimed: (2 eps, 2 delta), two phases", 2 * claimed, 2 * delta, "rdp-classic"),
        _row("two phases, one block each, tight", step, 2 * times, 2 * delta),
        _row("joint release, RDP classic", joint(step), 2 * times, 2 * delta, "rdp-classic"),
        _row("joint release, tight: what it costs", joint(step), 2 * times, 2 * delta),
    ]


def _row(what: str, step: SampledGaussian, times: int, delta: float, method: str = "best") -> Row:
    bound = _bound(step, times, delta, method)
    return Row(what, bound.upper, delta, bound.method, bound.lower)


def _as_json(
    name: str, step: SampledGaussian, times: int, parts: Mapping[str, Sequence[Row]]
) -> dict[str, Plain]:
    def value(number: float) -> float | str:
        return number if math.isfinite(number) else "inf"

    return {
        "schema": SCHEMA,
        "mechanism": name,
        "noise_multiplier": step.noise_multiplier,
        "sampling_rate": step.sampling_rate,
        "steps": times,
        "adjacency": "add-remove",
        "parts": {
            part: [
                {
                    "what": row.what,
                    "epsilon": value(row.epsilon),
                    "lower": value(row.lower),
                    "delta": row.delta,
                    "method": row.method,
                    "note": row.note,
                }
                for row in rows
            ]
            for part, rows in parts.items()
        },
    }
