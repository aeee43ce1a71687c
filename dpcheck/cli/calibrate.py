"""`dpcheck calibrate WHAT MECHANISM`: noise, steps or epochs for a budget."""

from __future__ import annotations

import json

import click

from dpcheck.accounting.api import epsilon
from dpcheck.accounting.calibrate import (
    Calibrated,
    calibrate_epochs,
    calibrate_noise,
    calibrate_steps,
    steps_in,
)
from dpcheck.accounting.calibrate_objective import ObjectiveFamily, tight_noise
from dpcheck.cli.accounting.events import (
    NOISE_FIELDS,
    Number,
    adjacency_or_natural,
    build,
    event_fields,
    mechanism_options,
    read_event,
    repetitions,
    steps_per_epoch,
)
from dpcheck.cli.flags import Flag, Flags
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import UsageError
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import to_dict
from dpcheck.core.events.training import ObjectivePerturbation

SCHEMA = "dpcheck.calibrate/1"


@click.command(name="calibrate")
@click.argument("what", type=click.Choice(["noise", "steps", "epochs"]))
@mechanism_options
@click.option("--budget", type=Number(), required=True, help="The epsilon to stay within.")
@click.option("--delta", type=Number(), default=0.0, help="The delta to stay within.")
@click.option("--steps", type=int, help="Number of steps, for 'calibrate noise'.")
@click.option("--epochs", type=int, help="Passes over the data, for 'calibrate noise'.")
@click.option("--method", default="best", help="One accountant instead of the best.")
@click.option("--format", "layout", type=click.Choice(["text", "json"]), default="text")
def command(
    what: str,
    mechanism: str,
    budget: float,
    delta: float,
    steps: int | None,
    epochs: int | None,
    method: str,
    adjacency: str | None,
    layout: str,
    **options: Flag,
) -> None:
    """Find the noise, steps or epochs for a budget; the result is verified before it is printed.

    \b
    dpcheck calibrate noise sampled-gaussian --rate 32/539 --epochs 353 --budget 4 --delta 1e-5
    dpcheck calibrate epochs sampled-gaussian --noise 6 --rate 32/539 --budget 4 --delta 1e-5
    dpcheck calibrate noise objective-perturbation --rows 100 --set regularization=0.1 --budget 1
    """
    allowance = Budget(budget, delta)
    if what == "noise":
        kind, values = event_fields(mechanism, options)
        if kind is ObjectivePerturbation:
            _objective(values, allowance, layout)
            return
        field = next((f for f in NOISE_FIELDS if f in kind.__dataclass_fields__), None)  # type: ignore[attr-defined]  # every event is a dataclass
        if field is None:
            raise UsageError(f"{mechanism} has no noise to calibrate.")
        probe = build(kind, {**values, field: 1.0}, mechanism)
        times = repetitions(steps, epochs, probe)
        relation = adjacency_or_natural(adjacency, probe)

        def event_for(noise: float) -> Event:
            return build(kind, {**values, field: noise}, mechanism) * times

        found: Calibrated[float] | Calibrated[int] = calibrate_noise(
            event_for, allowance, adjacency=relation, method=method
        )
        event, label = event_for(found.value), f"noise {found.value:.6g}"
    else:
        if steps is not None or epochs is not None:
            raise UsageError(f"leave out --steps and --epochs: 'calibrate {what}' finds them.")
        step = read_event(mechanism, options)
        relation = adjacency_or_natural(adjacency, step)
        if what == "epochs":
            per_epoch = steps_per_epoch(step)
            found = calibrate_epochs(step, per_epoch, allowance, adjacency=relation, method=method)
            times = steps_in(found.value, per_epoch)
            label = f"{found.value:,} epochs ({times:,} steps)"
        else:
            found = calibrate_steps(step, allowance, adjacency=relation, method=method)
            times, label = found.value, f"{found.value:,} steps"
        event = step * times
    _print(found, event, label, allowance, relation, layout)


def _objective(values: Flags, budget: Budget, layout: str) -> None:
    """Objective perturbation has two knobs: eps' and, below eps/2, extra regularisation."""
    missing = [name for name in ("rows", "regularization") if name not in values]
    if missing:
        raise UsageError(
            "objective-perturbation needs "
            + ", ".join("--rows" if m == "rows" else f"--set {m}=…" for m in missing)
            + "."
        )
    family = ObjectiveFamily(
        values["rows"], (values["regularization"],), (values.get("norm_bound", 1.0),)
    )
    (event,) = tight_noise(budget.epsilon, family)
    spent = epsilon(event, adjacency=Adjacency.REPLACE_ONE)
    label = (
        f"noise_epsilon {event.noise_epsilon:.9g}, "
        f"extra regularization {event.extra_regularization:.6g}"
    )
    found = Calibrated(event.noise_epsilon, spent)
    _print(found, event, label, budget, Adjacency.REPLACE_ONE, layout)


def _print(
    found: Calibrated[float] | Calibrated[int],
    event: Event,
    label: str,
    budget: Budget,
    adjacency: Adjacency,
    layout: str,
) -> None:
    if layout == "json":
        answer = {
            "schema": SCHEMA,
            "value": found.value,
            "event": to_dict(event),
            "adjacency": str(adjacency),
            "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
            "spent": {"epsilon": found.spent.upper, "method": found.spent.method},
        }
        click.echo(json.dumps(answer, indent=2))
        return
    click.echo(label)
    click.echo(
        f"spends epsilon {found.spent.upper:.6g} of {budget.epsilon:g} at delta {budget.delta:g} "
        f"({adjacency}, {found.spent.method})"
    )
