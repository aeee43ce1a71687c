"""How a command line names a mechanism: `sampled-gaussian --noise 6 --rate 32/539 --epochs 353`."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import click

from dpcheck.accounting.calibrate import steps_in
from dpcheck.cli.flags import Flag, Flags
from dpcheck.cli.terminal.completion import mechanisms
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidEvent, InvalidParameter, UnknownName, UsageError, reason
from dpcheck.core.events import guarantee as guarantee_events
from dpcheck.core.events import noise as noise_events
from dpcheck.core.events import selection as selection_events
from dpcheck.core.events import training as training_events
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_json
from dpcheck.core.validate import count

Function = TypeVar("Function", bound=Callable[..., object])


def _kebab(name: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", name).lower()


KINDS: dict[str, type[Event]] = {
    _kebab(name): kind
    for module in (noise_events, training_events, selection_events, guarantee_events)
    for name, kind in vars(module).items()
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
}

# Short option -> the event fields it can stand for.
_SHORT = {
    "noise": ("noise_multiplier", "scale", "noise", "noise_epsilon"),
    "rate": ("sampling_rate", "rate"),
    "rows": ("rows",),
    "batch": ("batch", "max_batch"),
    "eps": ("epsilon",),
}
NOISE_FIELDS = _SHORT["noise"]


def number(text: str) -> float:
    """A number or a fraction such as 32/539."""
    try:
        return float(Fraction(text)) if "/" in text else float(text)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise UsageError(f"{text!r} is not a number; write 0.06 or 32/539.", value=text) from None


class Number(click.ParamType):  # type: ignore[type-arg]  # generic only in click 8.2+
    """click type for `number`."""

    name = "number"

    def convert(self, value: object, param: object, ctx: object) -> float:  # noqa: ARG002 - click's signature
        """Parse, or raise the one-line error."""
        return value if isinstance(value, float) else number(str(value))


def mechanism_options(function: Function) -> Function:
    """The options that describe a mechanism, for any command."""
    for option in reversed(
        [
            click.argument("mechanism", shell_complete=mechanisms),
            click.option("--noise", type=Number(), help="Noise multiplier or scale."),
            click.option("--rate", type=Number(), help="Sampling rate, e.g. 0.01 or 32/539."),
            click.option("--rows", type=int, help="Number of records."),
            click.option("--batch", type=int, help="Batch size."),
            click.option("--eps", type=Number(), help="Epsilon of a pure mechanism."),
            click.option(
                "--set",
                "settings",
                multiple=True,
                metavar="NAME=VALUE",
                help="Any other parameter of the mechanism (repeatable).",
            ),
            click.option("--adjacency", help="replace-one, add-remove or zero-out."),
        ]
    ):
        function = option(function)
    return function


def event_fields(mechanism: str, options: Mapping[str, Flag]) -> tuple[type[Event], Flags]:
    """The kind of event a name stands for, and its fields from the options."""
    kind = _kind(mechanism)
    names = [field.name for field in dataclasses.fields(kind)]  # type: ignore[arg-type]  # all are
    values: Flags = {}
    for short, targets in _SHORT.items():
        if options.get(short) is None:
            continue
        field = next((t for t in targets if t in names), None)
        if field is not None:
            values[field] = options[short]
        elif not (short in ("rows", "batch") and "sampling_rate" in names):
            raise UsageError(f"{mechanism} has no --{short}. Its options: {_describe(kind)}.")
    for setting in options.get("settings", ()):
        name, equals, text = setting.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(f"--set takes NAME=VALUE, got {setting!r}.")
        if name not in names:
            raise UsageError(
                f"{mechanism} has no parameter {name!r}. Its options: {_describe(kind)}."
            )
        values[name] = text.strip()
    if "sampling_rate" in names and "sampling_rate" not in values:
        rows, batch = options.get("rows"), options.get("batch")
        if rows and batch:
            values["sampling_rate"] = batch / rows
    return kind, {name: _typed(kind, name, value) for name, value in values.items()}


def build(kind: type[Event], values: Mapping[str, Flag], mechanism: str) -> Event:
    """The event, or an error that lists what is missing."""
    needed = [
        field.name
        for field in dataclasses.fields(kind)  # type: ignore[arg-type]  # every kind is one
        if field.default is dataclasses.MISSING and field.name not in values
    ]
    if needed:
        raise UsageError(
            f"{mechanism} needs {' and '.join(map(option_for, needed))}. Its options: {_describe(kind)}."
        )
    return kind(**values)


def read_event(mechanism: str, options: Mapping[str, Flag]) -> Event:
    """The event of one step, from a name and options or from a JSON file."""
    if mechanism.endswith(".json"):
        try:
            text = Path(mechanism).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InvalidEvent(f"cannot read {mechanism}: {reason(error)}.") from None
        return from_json(text)
    kind, values = event_fields(mechanism, options)
    return build(kind, values, mechanism)


def repetitions(steps: int | None, epochs: int | None, event: Event) -> int:
    """How often the step is taken, from --steps or --epochs."""
    if steps is not None and epochs is not None:
        raise UsageError("give --steps or --epochs, not both.")
    if epochs is not None:
        return steps_in(count("epochs", epochs), steps_per_epoch(event))
    return 1 if steps is None else count("steps", steps)


def steps_per_epoch(event: Event) -> float:
    """Steps in which every record is seen once on average."""
    rate = getattr(event, "sampling_rate", None)
    if rate:
        return float(1 / rate)
    rows, batch = getattr(event, "rows", None), getattr(event, "batch", None)
    if rows and batch:
        return float(rows / batch)
    raise UsageError("epochs need a sampled mechanism with --rate, or --rows and --batch.")


def option_for(field: str) -> str:
    """How a field is given on the command line."""
    for short, targets in _SHORT.items():
        if field in targets:
            return f"--{short}"
    return f"--set {field}=…"


def _kind(mechanism: str) -> type[Event]:
    name = mechanism.replace("_", "-").lower()
    if name in KINDS:
        return KINDS[name]
    close = get_close_matches(name, KINDS, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"known are {', '.join(KINDS)}."
    raise UnknownName(f"unknown mechanism {mechanism!r}; {hint}", value=mechanism)


def _describe(kind: type[Event]) -> str:
    return ", ".join(option_for(f.name) for f in dataclasses.fields(kind))  # type: ignore[arg-type]  # all are


def _typed(kind: type[Event], name: str, value: Flag) -> Flag:
    """Text from --set as what the field takes."""
    if not isinstance(value, str):
        return value
    annotation = str(next(f.type for f in dataclasses.fields(kind) if f.name == name))  # type: ignore[arg-type]  # all are
    if "Adjacency" in annotation or annotation == "str":
        return value
    if annotation == "bool":
        if value.lower() not in ("true", "false"):
            raise InvalidParameter(f"{name} must be true or false, got {value!r}.", name=name)
        return value.lower() == "true"
    if "tuple[tuple" in annotation:  # rows of a matrix
        return tuple(tuple(number(item) for item in row.split(",")) for row in value.split(";"))
    if "tuple" in annotation:
        return tuple(number(item) for item in value.split(","))
    if annotation == "int":
        if not re.fullmatch(r"-?\d+", value):
            raise InvalidParameter(f"{name} must be a whole number, got {value!r}.", name=name)
        return int(value)
    return number(value)


def adjacency_or_natural(text: str | None, event: Event) -> Adjacency:
    """The adjacency asked for, or the one the event is usually stated under."""
    from dpcheck.core.adjacency import as_adjacency
    from dpcheck.core.events.event import natural_adjacency

    return as_adjacency(text) if text else natural_adjacency(event)
