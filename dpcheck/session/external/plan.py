"""From a program, its claim and its neighbours to a plan."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpcheck.auditing.mechanism import Mechanism, as_pairs
from dpcheck.auditing.pairs.checking import check_pairs
from dpcheck.auditing.plan import PartPlan
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import InvalidParameter, NothingToAudit, reason
from dpcheck.core.events.event import Event
from dpcheck.core.events.serialize import event_kind
from dpcheck.session.claims import read_claim
from dpcheck.session.external import client
from dpcheck.session.external.program import Program
from dpcheck.session.external.values import decode

_CLIENT = Path(client.__file__)


@dataclass(frozen=True, slots=True)
class Outside:
    """Where a target runs: a command that speaks the protocol, or another Python interpreter."""

    command: str | None = None
    python: str | None = None
    neighbours: str | None = None  # a JSON file with a list of pairs

    def __bool__(self) -> bool:
        return self.command is not None or self.python is not None


def plan_outside(
    outside: Outside,
    target: str | None,
    claim: Budget | None,
    adjacency: Adjacency | None,
    timeout: float | None,
) -> tuple[PartPlan, str]:
    """The plan of a target in another process, and a digest for the store's key."""
    if outside.command is not None:
        return _plan_command(outside, claim, adjacency, timeout)
    assert outside.python is not None
    if target is None:
        raise NothingToAudit("name the function: file.py:object or package.module:object.")
    return _plan_python(outside, target, claim, adjacency, timeout)


def _plan_command(
    outside: Outside, claim: Budget | None, adjacency: Adjacency | None, timeout: float | None
) -> tuple[PartPlan, str]:
    assert outside.command is not None
    command = _words(outside.command)
    if claim is None or adjacency is None or outside.neighbours is None:
        raise NothingToAudit(
            "a program cannot state a claim: give --claim, --adjacency and --neighbours.",
            name="claim",
        )
    pairs = as_pairs(read_pairs(outside.neighbours))
    stated = read_claim(claim, adjacency, "stated on the command line")
    name = Path(command[-1] if len(command) > 1 else command[0]).name
    digest = _digest(command, outside.neighbours)
    mechanism = Mechanism(Program(command, digest=digest), False, timeout)
    plan = PartPlan(name, "as given", stated, mechanism, pairs, notes=check_pairs(pairs, adjacency))
    return plan, digest


def _plan_python(
    outside: Outside,
    target: str,
    claim: Budget | None,
    adjacency: Adjacency | None,
    timeout: float | None,
) -> tuple[PartPlan, str]:
    assert outside.python is not None
    python = shutil.which(outside.python)
    if python is None:
        raise NothingToAudit(f"there is no interpreter {outside.python!r} to run.")
    location, sign, attribute = target.rpartition(":")
    if not sign:
        raise NothingToAudit(f"{target!r} is not of the form file.py:object.")
    if location.endswith(".py"):
        location = str(Path(location).resolve())
    command = (python, str(_CLIENT), f"{location}:{attribute}")
    digest = _digest(command, outside.neighbours)
    told = Program(command, typed=True, digest=digest).describe(timeout)
    declared = told.get("declared", {})
    wanted: Any = claim if claim is not None else _claim(declared.get("claim"))
    relation = adjacency if adjacency is not None else declared.get("adjacency")
    if relation is None:
        raise NothingToAudit(
            f"{attribute} declares no adjacency. Add --adjacency.", name="adjacency"
        )
    stated = read_claim(wanted, relation, f"declared by {attribute}")
    given = (
        read_pairs(outside.neighbours)
        if outside.neighbours is not None
        else decode(declared.get("neighbours", []))
    )
    pairs = as_pairs(given)
    batched = bool(told.get("batched"))
    mechanism = Mechanism(Program(command, batched, typed=True, digest=digest), batched, timeout)
    notes = check_pairs(pairs, stated.adjacency)
    plan = PartPlan(attribute, "as given", stated, mechanism, pairs, notes=notes)
    return plan, digest


def _words(text: str) -> tuple[str, ...]:
    try:
        words = tuple(shlex.split(text))
    except ValueError as error:
        raise InvalidParameter(f"{text!r} is no command: {error}.", name="exec") from None
    if not words:
        raise InvalidParameter("the command is empty.", name="exec")
    if shutil.which(words[0]) is None:
        raise NothingToAudit(f"there is no program {words[0]!r} to run.")
    return words


def read_pairs(path: str) -> list[Any]:
    """The pairs of a file: a JSON list of lists of two datasets."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidParameter(
            f"{path} cannot be read: {reason(error)}.", name="neighbours"
        ) from None
    if not isinstance(content, list) or any(
        not isinstance(pair, list) or len(pair) != 2 for pair in content
    ):
        raise InvalidParameter(
            f"{path} must hold a list of pairs: [[D, D2], ...].", name="neighbours"
        )
    return content


def _claim(told: Any) -> Event | Budget | float | None:
    """The claim as another interpreter declared it: an event, (epsilon, delta) or epsilon."""
    if isinstance(told, dict) and len(told) == 1:  # {"ZCDP": 0.5}, as the catalogue writes events
        ((name, value),) = told.items()
        told = {"name": name, "args": [value]}
    plain = decode(told) if isinstance(told, list) or _is_tuple(told) else told
    if isinstance(plain, list | tuple):
        return Budget(*(float(value) for value in plain))
    if not isinstance(told, dict):
        return told if told is None else float(told)
    arguments, named = decode(told.get("args", [])), decode(told.get("named", {}))
    if told.get("name") == "Budget":
        return Budget(*arguments, **named)
    try:
        return event_kind(str(told.get("name")))(*arguments, **named)
    except TypeError as error:
        raise InvalidParameter(
            f"the declared claim cannot be read: {error}.", name="claim"
        ) from None


def _is_tuple(told: Any) -> bool:
    return isinstance(told, dict) and told.get(client.TAG) == "tuple"


def _digest(command: tuple[str, ...], neighbours: str | None) -> str:
    """Files the command names, and the data: what a kept result depends on and can be seen from here."""
    parts = [*command, *([] if neighbours is None else [neighbours])]
    found = hashlib.sha256(json.dumps([os.getcwd(), *command]).encode())
    for word in parts:
        path = Path(word.rpartition(":")[0] if ":" in word else word)
        if path.is_file():
            found.update(path.read_bytes())
    return found.hexdigest()
