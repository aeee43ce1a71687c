"""One browser, and five real reports to look at."""

import math
import os
import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from click.testing import CliRunner
from devtools import Browser

import dpcheck
from dpcheck.cli.ledger import report as report_command
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditReport, BudgetEntry, Scope
from dpcheck.core.budget import Budget
from dpcheck.execution.parallel import Workers
from dpcheck.report import html
from dpcheck.report.pld_page import as_html
from dpcheck.session.run import AuditRequest, run_request

MECHANISM = """
import dpcheck
import numpy as np


@dpcheck.audited(claim=1.0, adjacency="zero-out", neighbours=[([0.0, 0.0], [0.0, 1.0])])
@dpcheck.batched
def private_sum(data, size, rng):
    return np.sum(data) + rng.laplace(size=size)
"""
HOSTILE = (
    "<img src=x onerror=\"document.title='owned'\"> a name that is far too long for a telephone"
)


@dpcheck.batched
def half_noise(data, size, rng):
    """Half of the noise that the claimed curve of Gaussian(4) needs."""
    return data[0] + rng.normal(scale=2.0, size=size)


def private(target, **request):
    return run_request(AuditRequest(target, pictures=True, workers=Workers(jobs=1), **request))


@pytest.fixture(scope="session")
def reports(tmp_path_factory):
    """Name -> file: the kinds of report there are."""
    folder = tmp_path_factory.mktemp("reports")
    (folder / "mechanism.py").write_text(MECHANISM)
    target = f"{folder / 'mechanism.py'}:private_sum"
    small = ("rows=100", "groups=2", "features=4")
    made = {
        "holds": private("plr", epsilon=1.0, settings=("rows=100", "features=3")),
        "violated": private("pst_h", epsilon=1.0, variant="printed", settings=small),
        "consistent": private(target, max_runs=60_000),
        "undecided": private(target, max_runs=400),
    }
    curve = dpcheck.audit(
        half_noise,
        claim=dpcheck.Gaussian(4.0),
        neighbours=[([0.0], [1.0])],
        adjacency="zero-out",
        max_runs=40_000,
    )
    entries = [
        replace(entry, name=HOSTILE if number == 3 else f"audit {number}")
        for number, entry in enumerate(entry for r in made.values() for entry in r.entries)
    ] * 2
    spent = BudgetEntry(
        "patients", Budget(1.0), Adjacency.REPLACE_ONE, 0.5, 2.0, "pure", ("first", "second")
    )
    made["many"] = AuditReport(
        0,
        tuple(entries),
        0.999,
        {"dpcheck": dpcheck.__version__},
        (spent,),
        ("entry 3 of the baseline has expired",),
        "dpcheck check",
    )
    made["gate"] = replace(
        made["many"],
        entries=made["many"].entries[:2],
        scope=Scope.PROJECT,
        changes=("audit 0/data: violated; it was consistent.",),
    )
    made["curve"] = curve
    files = {}
    for name, report in made.items():
        assert name in ("many", "gate", "curve") or any(
            entry.verdict == name for entry in report.entries
        ), name
        files[name] = folder / f"{name}.html"
        files[name].write_text(html.render(report), encoding="utf-8")
    losses = dpcheck.pld("plr", settings=("rows=100", "features=3"), runs=200)
    entries = (*losses.entries, replace(losses.entries[0], part=HOSTILE, losses=(math.inf,)))
    claims = (*losses.claims, (HOSTILE, 0.3, 1e-3))
    losses = replace(losses, target=HOSTILE, entries=entries, claims=claims)
    files["losses"] = folder / "losses.html"
    files["losses"].write_text(as_html(losses), encoding="utf-8")
    return files


@pytest.fixture(scope="session")
def ledger_page(tmp_path_factory):
    """What `dpcheck ledger report` writes."""
    folder = tmp_path_factory.mktemp("ledger")
    with dpcheck.Ledger.open(
        folder / "b.ledger", Budget(3.0, 1e-5), "add-remove", block=1
    ) as ledger:
        people, visits = ledger.dataset("people"), ledger.dataset("visits", budget=Budget(1.0))
        for _ in range(5):
            ledger.spend(people, dpcheck.Gaussian(20.0))
            ledger.spend(visits, dpcheck.PureDP(0.15))
        ledger.spend(ledger.population("sites", size=1000), dpcheck.PureDP(0.25), who=[1, 2, 3])
    path = folder / "ledger.html"
    done = CliRunner().invoke(report_command, [str(folder / "b.ledger"), "-o", str(path)])
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture(scope="session")
def browser():
    with Browser() as running:
        yield running


@pytest.fixture(scope="session")
def shots():
    """Where screenshots go, if DPCHECK_SHOTS names a folder."""
    folder = os.environ.get("DPCHECK_SHOTS")
    if folder is None:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder)
