"""What can be audited by name: one file per algorithm, each with an `AUDIT`."""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from types import ModuleType
from typing import TYPE_CHECKING

from dpcheck.auditing.plan import PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.data import Plain
from dpcheck.core.errors import CannotReplay, InvalidParameter, UnknownName
from dpcheck.core.witness import Witness, WitnessKind, replayed_by
from dpcheck.session.judgement import Judgement

if TYPE_CHECKING:
    from dpcheck.session.region import Hypotheses


@dataclass(frozen=True, slots=True)
class Parameter:
    """A value that a setting `name=value` may change; its type is that of the default."""

    name: str
    default: Plain
    help: str
    choices: tuple[str, ...] = ()

    def read(self, text: str) -> Plain:
        """The value a user wrote."""
        if self.choices:
            if text not in self.choices:
                raise InvalidParameter(
                    f"{self.name} must be one of {', '.join(self.choices)}, got {text!r}.",
                    name=self.name,
                )
            return text
        kind = float if self.default is None else type(self.default)
        try:
            return kind(text)
        except ValueError:
            raise InvalidParameter(
                f"{self.name} must be a {kind.__name__}, got {text!r}.", name=self.name
            ) from None


@dataclass(frozen=True, slots=True)
class AuditSetup:
    """What was asked of an audit."""

    epsilon: float
    delta: float = 0.0
    variant: str = "corrected"
    adjacency: Adjacency | None = None
    settings: Mapping[str, Plain] = field(default_factory=dict)
    timeout: float | None = None


@dataclass(frozen=True, slots=True)
class Audit:
    """An algorithm that can be audited; the first variant is the default."""

    name: str
    summary: str
    paper: str
    parts: tuple[str, ...]
    build: Callable[[AuditSetup], Sequence[PartPlan]]
    variants: tuple[str, ...] = ("corrected", "printed")
    parameters: tuple[Parameter, ...] = ()
    replay: Callable[[Witness], float] | None = None
    judgement: Judgement | None = None  # for the board of verdicts
    aliases: Mapping[str, str] = field(default_factory=dict)  # former names of variants
    estimator: str = ""  # the class of dpcheck.mechanisms whose objects can be audited as they are
    build_model: Callable[[object, AuditSetup], Sequence[PartPlan]] | None = None
    regions: Callable[[], Sequence[Hypotheses]] | None = (
        None  # the printed claim and all it is made for
    )

    def settings(self, given: Sequence[str]) -> dict[str, Plain]:
        """Defaults with `name=value` texts applied."""
        known = {p.name: p for p in self.parameters}
        values = {p.name: p.default for p in self.parameters}
        for item in given:
            name, sign, text = item.partition("=")
            if not sign:
                raise InvalidParameter(f"a setting is name=value, got {item!r}.", name="settings")
            if name not in known:
                close = get_close_matches(name, known, n=1)
                hint = f" Did you mean {close[0]!r}?" if close else ""
                names = ", ".join(known) or "none"
                raise UnknownName(f"{self.name} has no parameter {name!r}; it has {names}.{hint}")
            values[name] = known[name].read(text)
        return values

    def check_variant(self, variant: str | None) -> str:
        """The variant by name, the default for None."""
        if variant is None:
            return self.variants[0]
        variant = self.aliases.get(variant, variant)
        if variant not in self.variants:
            raise UnknownName(
                f"{self.name} has no variant {variant!r}; it has {', '.join(self.variants)}."
            )
        return variant


# The papers' audits, which may be left out; and the entry point under which other packages name theirs.
HOME = "dpcheck.audits"


@cache
def _homes() -> dict[str, str]:
    """Audit -> its module. Of two of one name, dpcheck's own is taken."""
    others = sorted(entry.value for entry in entry_points(group=HOME) if entry.value != HOME)
    found: dict[str, str] = {}
    for package in [*others, *([HOME] if find_spec(HOME) is not None else [])]:
        paths = import_module(package).__path__
        found |= {m.name: f"{package}.{m.name}" for m in pkgutil.iter_modules(paths)}
    return found


def names() -> list[str]:
    """All registered audits."""
    return sorted(_homes())


def module_of(name: str) -> ModuleType:
    """The module that registers an audit."""
    return import_module(_homes()[name.replace("-", "_")])


def get(name: str) -> Audit:
    """The audit called `name`."""
    wanted = name.replace("-", "_")
    if wanted not in names():
        close = get_close_matches(wanted, names(), n=1)
        hint = f"did you mean {close[0]!r}?" if close else "'dpcheck list' shows all."
        if name.endswith(".py"):
            raise UnknownName(f"{name} is a file. Name the function in it, as {name}:FUNCTION.")
        raise UnknownName(
            f"no audit is called {name!r}; {hint} To audit your own function, name it as file.py:function "
            "or package.module:function."
        )
    audit = module_of(wanted).AUDIT
    assert isinstance(audit, Audit)
    return audit


def audit_of(model: object) -> Audit | None:
    """The audit of objects of this class, if there is one."""
    if not hasattr(model, "sample_releases"):
        return None
    found = (get(name) for name in names())
    return next((a for a in found if a.build_model and a.estimator == type(model).__name__), None)


def _replay(witness: Witness) -> float:
    """The loss of a saved witness of a registered audit, certified anew."""
    name = witness.get("audit")
    if not isinstance(name, str):
        raise CannotReplay("this witness does not say which audit it belongs to.")
    audit = get(name)
    if audit.replay is None:
        raise CannotReplay(f"witnesses of {name} cannot be replayed; run the audit again.")
    return audit.replay(witness)


for _kind in (WitnessKind.EXACT_WITNESS, WitnessKind.CANARY_TRANSCRIPT):
    replayed_by(_kind, _replay)
