"""The files a project starts with: a claim with a description of its records, project file, workflow."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.errors import UsageError, reason
from dpcheck.core.records import as_code
from dpcheck.gate.describing import Described, Reading, described_by
from dpcheck.gate.workflow import workflow

WORKFLOW = Path(".github/workflows/privacy.yml")
PROJECT = Path("dpcheck.toml")
_MADE_UP = 10_000  # rows up to which audits make up as many


@dataclass(frozen=True, slots=True)
class Start:
    """What the first audit of a project needs to be told."""

    target: str  # file.py:function or package.module:function
    claim: Budget
    adjacency: Adjacency
    data: str  # a CSV file, or file.py:table
    dataset: str = "people"
    reading: Reading = field(default_factory=Reading)

    @property
    def function(self) -> str:
        """The name of the audited function."""
        return self.target.rpartition(":")[2]

    @property
    def file(self) -> Path:
        """Where its claim is written: beside the code it is about, never into it."""
        location = self.target.rpartition(":")[0]
        folder = Path(location).parent if location.endswith(".py") else Path()
        return folder / f"dpcheck_{self.function}.py"

    @property
    def module(self) -> str:
        """What the claim imports the function from."""
        location = self.target.rpartition(":")[0]
        return Path(location).stem if location.endswith(".py") else location


def files(start: Start) -> dict[Path, str]:
    """Every file, by its path; nothing is written here."""
    return {
        start.file: declaration(start, described_by(start.data, start.reading)),
        PROJECT: project(start),
        WORKFLOW: workflow(Path()),
    }


def declaration(start: Start, described: Described) -> str:
    """The module that says what the function claims, about which records."""
    claim = f"{start.claim.epsilon:g}"
    if start.claim.delta:
        claim = f"dpcheck.Budget({claim}, {start.claim.delta:g})"
    records, slow = described.records, ""
    if start.adjacency is Adjacency.REPLACE_ONE:
        if described.rows <= _MADE_UP:
            records = replace(records, rows=described.rows)
        else:
            slow = (
                "\n# Under replace-one the number of rows is public. A proof needs it, so add rows=N. An\n"
                f"# audit then makes up data of N rows, which takes long for all {described.rows:,}."
            )
    code = as_code(records, described.notes)
    return f'''"""What {start.function} claims, and what one record can contain: yours to correct.

The bounds below are guesses: dpcheck read {described.source} and rounded outwards.
Nobody has confirmed them, and a proof is only as good as they are. For every column:

- write what may occur, not what occurred (a bound taken from private data is itself a release);
- then turn confirmed=False into confirmed=True. Until then the claim can be consistent, but never holds.
"""

import dpcheck
from {start.module} import {start.function}
{slow}
RECORDS = {code}

{start.function} = dpcheck.audited(
    claim={claim},
    adjacency="{start.adjacency}",
    records=RECORDS,
    form="pandas",  # how {start.function} takes them; also dicts, columns, array, values, polars
)({start.function})
'''


def project(start: Start) -> str:
    """The project file."""
    path = "" if start.target.rpartition(":")[0].endswith(".py") else 'pythonpath = ["."]\n'
    delta = f"delta = {start.claim.delta:g}\n" if start.claim.delta else ""
    return f'''# What `dpcheck check` audits, and what may be released. See docs: Guard a repository in CI.
{path}max-runs = 20_000
time-limit = 600

[[audits]]
target = "{start.file.as_posix()}:{start.function}"
name = "{start.function}"
dataset = "{start.dataset}"

[budgets.{start.dataset}]
epsilon = {start.claim.epsilon:g}
{delta}adjacency = "{start.adjacency}"
'''


def checked_target(text: str) -> str:
    """A target that can be imported by name."""
    location, colon, name = text.rpartition(":")
    if not colon or not name.isidentifier() or keyword.iskeyword(name):
        raise UsageError(f"name the function as file.py:function, not {text!r}.")
    if location.endswith(".py") and not Path(location).is_file():
        raise UsageError(f"there is no file {location}.")
    if location.endswith(".py") and not Path(location).stem.isidentifier():
        raise UsageError(
            f"{location} cannot be imported by name; rename it to letters, digits and underscores."
        )
    if location.endswith(".py"):
        _check_defined(Path(location), name)
    return text


def _check_defined(path: Path, name: str) -> None:
    """Refuse a name that nothing in the file mentions; the file is read, not run."""
    try:
        tree = ast.parse(path.read_bytes(), filename=str(path))
    except (OSError, SyntaxError, ValueError) as error:
        raise UsageError(f"cannot read {path} as Python: {reason(error)}.") from None
    functions = [
        node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    bound = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        if isinstance(node, ast.alias):
            bound.add((node.asname or node.name).partition(".")[0])
    if name in bound or "*" in bound:
        return
    close = get_close_matches(name, functions, n=1)
    has = f"it has {', '.join(functions)}" if functions else "it defines no function"
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise UsageError(f"there is no {name} in {path}; {has}.{hint}")


def write(found: dict[Path, str]) -> tuple[list[Path], list[Path]]:
    """(written, kept): a file that exists is left as it is."""
    written: list[Path] = []
    kept: list[Path] = []
    for path, text in found.items():
        if path.exists():
            kept.append(path)
            continue
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as stream:  # never over another's file
                stream.write(text)
        except OSError as error:
            raise UsageError(f"cannot write {path}: {reason(error)}.") from None
        written.append(path)
    return written, kept


def missing(values: Mapping[str, object]) -> Sequence[str]:
    """The flags that were not given."""
    return [flag for flag, value in values.items() if value is None]
