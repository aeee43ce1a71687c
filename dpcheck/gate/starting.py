"""The files a project starts with: a claim with a description of its records, project file, workflow."""

from __future__ import annotations

import ast
import csv
import keyword
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from dpcheck.auditing.pairs.inference import infer_records
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.budget import Budget
from dpcheck.core.data import Data
from dpcheck.core.errors import InvalidRecords, UsageError
from dpcheck.core.records import Records, as_code
from dpcheck.execution.references import parse

_MOST_ROWS = 100_000  # read to guess from
_TAKEN = {"rows", "person", "rows_per_person"}
WORKFLOW = Path(".github/workflows/privacy.yml")
PROJECT = Path("dpcheck.toml")


@dataclass(frozen=True, slots=True)
class Start:
    """What the first audit of a project needs to be told."""

    target: str  # file.py:function or package.module:function
    claim: Budget
    adjacency: Adjacency
    data: str  # a CSV file, or file.py:table
    dataset: str = "people"

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
    described = described_by(start.data)
    return {
        start.file: declaration(start, described),
        PROJECT: project(start),
        WORKFLOW: workflow(),
    }


def described_by(data: str) -> Records:
    """The description of the rows of a CSV file, or of a table in Python code."""
    if data.endswith(".csv"):
        found = infer_records(read_csv(Path(data)))
    elif ":" in data:
        found = infer_records(parse(data).load())
    else:
        raise UsageError(f"--data names a .csv file or file.py:table, not {data!r}.")
    clash = _TAKEN & set(found.names)
    if clash:
        raise InvalidRecords(
            f"a column is called {min(clash)!r}, which dpcheck.records() uses for something else; "
            "rename it in a copy of the data."
        )
    return found


def read_csv(path: Path) -> list[dict[str, Data]]:
    """Rows with their numbers read as numbers and empty cells as missing."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            names = reader.fieldnames or []
            rows = [
                {name: _value(row[name]) for name in names}
                for _, row in zip(range(_MOST_ROWS), reader, strict=False)
            ]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InvalidRecords(f"cannot read {path}: {error}.") from None
    if not rows or len(set(names)) != len(names) or "" in names:
        raise InvalidRecords(
            f"{path} has no rows below a line of different column names; give it a header."
        )
    return rows


def _value(text: str | None) -> str | float | int | None:
    if text is None or text.strip() == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def declaration(start: Start, described: Records) -> str:
    """The module that says what the function claims, about which records."""
    claim = f"{start.claim.epsilon:g}"
    if start.claim.delta:
        claim = f"dpcheck.Budget({claim}, {start.claim.delta:g})"
    code = as_code(described)
    return f'''"""What {start.function} claims, and what one record may hold. Yours to correct.

The ends of the numbers are guesses, widened from {Path(start.data).name}. Write what may occur, not what
occurred: a bound read off the private data is itself a release.
"""

import dpcheck
from {start.module} import {start.function}

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


def workflow() -> str:
    """A GitHub workflow that runs the gate."""
    return """name: privacy
on: [push, pull_request]
permissions:
  contents: read
  security-events: write
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: pip install dpcheck pandas
      - run: dpcheck check --format github --report sarif=dpcheck.sarif,markdown=dpcheck.md
      - run: cat dpcheck.md >> "$GITHUB_STEP_SUMMARY"
        if: always()
      - uses: github/codeql-action/upload-sarif@v3
        if: always()
        with:
          sarif_file: dpcheck.sarif
"""


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
        raise UsageError(f"cannot read {path} as Python: {error}.") from None
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
            raise UsageError(f"cannot write {path}: {error}.") from None
        written.append(path)
    return written, kept


def missing(values: Mapping[str, object]) -> Sequence[str]:
    """The flags that were not given."""
    return [flag for flag, value in values.items() if value is None]
