"""`[tool.dpcheck]` of pyproject.toml, or dpcheck.toml: what a project wants checked."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from dpcheck.core.adjacency import Adjacency, as_adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Plain
from dpcheck.core.errors import InvalidProject
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import from_dict
from dpcheck.gate.fields import (
    Reader,
    Unfit,
    choice,
    flag,
    many,
    number,
    read_table,
    suggest,
    text,
    whole,
)
from dpcheck.gate.files import check_depth, inside, read_toml

OWN_FILE = "dpcheck.toml"
SHARED_FILE = "pyproject.toml"
MOST_AUDITS = 2000


@dataclass(frozen=True, slots=True)
class AuditSpec:
    """One `[[audits]]` table: what to audit against which claim."""

    name: str
    target: str
    epsilon: float | None = None
    delta: float | None = None
    claim: Event | None = None
    adjacency: Adjacency | None = None
    variant: str | None = None
    settings: tuple[str, ...] = ()
    max_runs: int | None = None
    timeout: float | None = None
    time_limit: float | None = None
    floating_point: bool = False
    datasets: Mapping[str, str] = field(default_factory=dict)  # part -> dataset, "" for all parts
    releases: int = 1
    inputs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BudgetSpec:
    """One `[budgets.NAME]` table: what may be released from a dataset, and what else is."""

    dataset: str
    budget: Budget
    adjacency: Adjacency
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class Project:
    """A project file, checked. `options` are defaults of command-line flags."""

    root: Path
    file: Path | None
    options: Mapping[str, Plain] = field(default_factory=dict)
    audits: tuple[AuditSpec, ...] = ()
    budgets: tuple[BudgetSpec, ...] = ()
    pythonpath: tuple[Path, ...] = ()


def find(root: Path) -> Project:
    """The project in a folder; an empty one where neither file says anything."""
    own, shared = root / OWN_FILE, root / SHARED_FILE
    table = _shared_table(shared) if shared.exists() else None
    if own.exists():
        if table is not None:
            raise InvalidProject(
                f"both {OWN_FILE} and [tool.dpcheck] in {SHARED_FILE} configure dpcheck; keep one."
            )
        return load(own)
    return Project(root, None) if table is None else _read(shared, table)


def load(path: Path) -> Project:
    """The project a given file configures."""
    if path.name == SHARED_FILE:
        table = _shared_table(path)
        if table is None:
            raise InvalidProject(f"{path} has no [tool.dpcheck] table.")
        return _read(path, table)
    return _read(path, read_toml(path))


def _shared_table(path: Path) -> object:
    tool = read_toml(path).get("tool", {})
    if not isinstance(tool, dict):
        raise InvalidProject(f"{path}: tool must be a table.")
    return tool.get("dpcheck")


def _positive() -> Reader:
    return number(0, open_ends=True)


# The defaults of `dpcheck audit` and `dpcheck check`; the key is the flag's name.
OPTIONS = {
    "confidence": number(0, 1, open_ends=True),
    "max-runs": whole(1),
    "seed": whole(0),
    "jobs": whole(1, 4096),
    "tolerance": number(0),
    "timeout": _positive(),
    "store": text,
    "time-limit": _positive(),
    "baseline": text,
    "no-data": flag,
    "allow-undecided": flag,
    "require-proof": flag,
}


def _read(path: Path, data: object) -> Project:
    check_depth(path, data)
    root = path.parent
    readers = OPTIONS | {
        "pythonpath": many(text, 20),
        "audits": _as_list,
        "budgets": _as_table,
    }
    where = "[tool.dpcheck]" if path.name == SHARED_FILE else path.name
    values = read_table(where, data, readers)
    for key in ("store", "baseline"):
        if key in values:
            values[key] = str(inside(root, values[key], key))
    options = {k.replace("-", "_"): v for k, v in values.items() if k in OPTIONS}
    budgets = tuple(_budget(n, t) for n, t in values.get("budgets", {}).items())
    audits = tuple(_audit(root, i, t) for i, t in enumerate(values.get("audits", [])))
    _check_names(audits, budgets)
    folders = tuple(inside(root, p, "pythonpath") for p in values.get("pythonpath", ()))
    return Project(root, path, options, audits, budgets, folders)


def _as_list(value: object) -> list[object]:
    if not isinstance(value, list) or len(value) > MOST_AUDITS:
        raise Unfit(f"a list of at most {MOST_AUDITS} tables ([[audits]])")
    return value


def _as_table(value: object) -> dict[str, object]:
    if not isinstance(value, dict) or len(value) > MOST_AUDITS:
        raise Unfit(f"at most {MOST_AUDITS} tables ([budgets.NAME])")
    return value


def _event(value: object) -> Event:
    return from_dict(value)  # InvalidEvent is told with the key's name


def _settings(value: object) -> tuple[str, ...]:
    if not isinstance(value, dict):
        raise Unfit("a table of names and values")
    for item in value.values():
        if not isinstance(item, str | int | float | bool):
            raise Unfit("a table of plain values")
    return tuple(f"{name}={item}" for name, item in value.items())


def _datasets(value: object) -> dict[str, str]:
    if isinstance(value, str):
        return {"": text(value)}
    if not isinstance(value, dict):
        raise Unfit("the name of a dataset, or a table part = dataset")
    return {str(part): text(name) for part, name in value.items()}


_ADJACENCY = choice(*(a.value for a in Adjacency))
_AUDIT = {
    "name": text,
    "target": text,
    "epsilon": number(0),
    "delta": number(0, 1),
    "claim": _event,
    "adjacency": _ADJACENCY,
    "variant": text,
    "set": _settings,
    "max-runs": whole(1),
    "timeout": _positive(),
    "time-limit": _positive(),
    "floating-point": flag,
    "dataset": _datasets,
    "releases": whole(1, 10**9),
    "inputs": many(text),
}


def _audit(root: Path, index: int, data: object) -> AuditSpec:
    where = f"audits[{index}]"
    found = read_table(where, data, _AUDIT)
    if "target" not in found:
        raise InvalidProject(f"{where} needs a target: a registered name or file.py:object.")
    target = found["target"]
    if "claim" in found and ("epsilon" in found or "delta" in found):
        raise InvalidProject(f"{where} has a claim, and epsilon or delta as well. Keep one.")
    if "delta" in found and "epsilon" not in found:
        raise InvalidProject(f"{where} gives delta without epsilon.")
    if "claim" in found and ":" not in target:
        raise InvalidProject(f"{where}: claim is for your own code; {target} states its own.")
    location = target.rpartition(":")[0]
    if location.endswith(".py"):
        inside(root, location, f"{where}: target")
    for path in found.get("inputs", ()):
        inside(root, path, f"{where}: inputs")
    adjacency = found.get("adjacency")
    return AuditSpec(
        name=str(found.get("name", target)),
        target=target,
        epsilon=found.get("epsilon"),
        delta=found.get("delta"),
        claim=found.get("claim"),
        adjacency=None if adjacency is None else as_adjacency(adjacency),
        variant=found.get("variant"),
        settings=found.get("set", ()),
        max_runs=found.get("max-runs"),
        timeout=found.get("timeout"),
        time_limit=found.get("time-limit"),
        floating_point=found.get("floating-point", False),
        datasets=found.get("dataset", {}),
        releases=found.get("releases", 1),
        inputs=found.get("inputs", ()),
    )


_BUDGET = {
    "epsilon": number(0),
    "delta": number(0, 1),
    "adjacency": _ADJACENCY,
    "events": many(_event),
}


def _budget(name: str, data: object) -> BudgetSpec:
    where = f"budgets.{text(name) if name.isprintable() and name else '?'}"
    found = read_table(where, data, _BUDGET)
    for key in ("epsilon", "adjacency"):
        if key not in found:
            raise InvalidProject(f"{where} needs {key}.")
    budget = Budget(found["epsilon"], found.get("delta", 0.0))
    return BudgetSpec(name, budget, as_adjacency(found["adjacency"]), found.get("events", ()))


def _check_names(audits: tuple[AuditSpec, ...], budgets: tuple[BudgetSpec, ...]) -> None:
    known = {budget.dataset: budget for budget in budgets}
    seen: set[str] = set()
    for audit in audits:
        if audit.name in seen:
            raise InvalidProject(
                f"two audits are called {audit.name!r}. Give them different names."
            )
        seen.add(audit.name)
        for dataset in audit.datasets.values():
            if dataset not in known:
                raise InvalidProject(
                    f"{audit.name} spends from {dataset!r}, which has no [budgets] table. "
                    f"{suggest(dataset, known)}"
                )
