"""Your own code as a target: file.py:object or package.module:object."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from dpcheck.auditing.auditors.canaries import CanaryTraining
from dpcheck.auditing.claims import audited_claim
from dpcheck.auditing.mechanism import (
    Declaration,
    Mechanism,
    as_mechanism,
    as_pairs,
    declaration,
)
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.statistics.guesses import best_guess_count
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.errors import NothingToAudit, UnsupportedAdjacency
from dpcheck.session.claims import read_claim


def _hint(error: BaseException) -> str:
    if not isinstance(error, ModuleNotFoundError):
        return ""
    return (
        ' If it is yours: install it, or name its folder in the project file, pythonpath = ["."].'
    )


@lru_cache(maxsize=16)
def _module(location: str) -> ModuleType:
    if not location.endswith(".py"):
        try:
            return import_module(location)
        except (Exception, SystemExit) as error:
            raise NothingToAudit(
                f"cannot import {location}: {type(error).__name__}: {error}.{_hint(error)}"
            ) from error
    path = Path(location)
    if not path.is_file():
        raise NothingToAudit(f"there is no file {location}.")
    name = "dpcheck_target_" + hashlib.blake2b(str(path).encode(), digest_size=6).hexdigest()
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # sys.exit(0) must not end an audit with "passed"
        del sys.modules[name]
        raise NothingToAudit(
            f"{location} cannot be loaded: {type(error).__name__}: {error}.{_hint(error)}"
        ) from error
    return module


@dataclass(frozen=True, slots=True)
class Reference:
    """An object in a module or file, loaded where it is used: workers get its name only."""

    location: str
    attribute: str

    def load(self) -> Any:
        """The object."""
        found: Any = _module(self.location)
        for step in self.attribute.split("."):
            if not hasattr(found, step):
                raise NothingToAudit(f"{self.location} has no object {self.attribute!r}.")
            found = getattr(found, step)
        return found

    def __call__(self, *arguments: Any) -> Any:
        """Call the object."""
        return self.load()(*arguments)


def parse(text: str) -> Reference:
    """`path/file.py:object` or `package.module:object`."""
    location, sign, attribute = text.rpartition(":")
    if not sign or not location or not attribute:
        raise NothingToAudit(
            f"{text!r} is not of the form file.py:object or package.module:object."
        )
    if location.endswith(".py"):
        location = str(Path(location).resolve())
    return Reference(location, attribute)


def plan_target(
    text: str, *, epsilon: float | None, delta: float | None, timeout: float | None
) -> tuple[PartPlan, str]:
    """The plan of a user's target, and a digest of its source for the store's key."""
    reference = parse(text)
    target = reference.load()
    declared = declaration(target)
    wanted = declared.claim
    if epsilon is not None:
        wanted = Budget(epsilon, delta or 0.0)
    stated = read_claim(wanted, declared.adjacency, f"declared by {reference.attribute}")
    if declared.canaries is not None:
        return _one_run(reference, stated, declared, timeout), _digest(reference)
    mechanism = as_mechanism(target, timeout)
    suffix = ".sample_releases" if hasattr(target, "sample_releases") else ""
    remote = Reference(reference.location, reference.attribute + suffix)
    mechanism = Mechanism(remote, mechanism.batched, timeout, mechanism.log_density)
    plan = PartPlan(
        reference.attribute,
        "as given",
        stated,
        mechanism,
        as_pairs(declared.neighbours),
    )
    return plan, _digest(reference)


def _one_run(
    reference: Reference, stated: Claim, declared: Declaration, timeout: float | None
) -> PartPlan:
    """A training function with canaries; its neighbours differ in whether one canary is in."""
    if stated.adjacency is Adjacency.REPLACE_ONE:
        raise UnsupportedAdjacency(
            "a one-run audit includes or leaves out each canary; state the claim under add-remove "
            "or zero-out.",
        )
    assert declared.canaries is not None
    guesses = declared.guesses or best_guess_count(declared.canaries)
    training = CanaryTraining(reference, audited_claim(stated), declared.canaries, guesses, timeout)
    return PartPlan(reference.attribute, "as given", stated, None, training=training)


def _digest(reference: Reference) -> str:
    source = getattr(_module(reference.location), "__file__", None)
    content = Path(source).read_bytes() if source else b""
    return hashlib.sha256(content).hexdigest()
