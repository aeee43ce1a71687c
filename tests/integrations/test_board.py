"""A part of the board for real: verdicts in the libraries' environments, counterexamples without dpcheck.

`make test-integrations` makes the environments; what is not there is skipped by name.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dpcheck.libraries.catalogue import libraries
from dpcheck.session.external.plan import Outside
from dpcheck.session.run import AuditRequest, run_request

ROOT = Path(__file__).parents[2]


def python_of(library):
    path = ROOT / ".venv-libraries" / library / "bin/python"
    if not path.exists():
        pytest.skip(f"no environment of {library}; run make libraries ONLY={library}")
    return str(path)


# What each script prints when it shows the violation; a script that fails prints none of it.
SHOWN = {
    ("pure-ldp", "rappor"): "bit 1 is set in 2000 of 2000 reports of value 1",
    ("multi-freq-ldpy", "subset_selection"): "0 times if the true value is 1",
    ("multi-freq-ldpy", "fake_data"): "closed form ln(d(e^eps - 1) + 1) = 1.8172",
    ("flwr", "local_dp_mod"): "exact epsilon 1.2868",
    ("appfl", "local_steps"): "spent 10.000",
    ("diffprivlib", "forest_votes"): "under add-remove the claim holds",
    ("diffprivlib", "regression_sums"): "last record 0.1: [0.01]",
    ("opendp", "one_sample"): "map says 0.7215; exactly ln(1 + q(e^(k eps) - 1)) = 8.0883",
    ("DataSynthesizer", "exact_range"): "released maximum 31 and 90",
    ("diffprivlib", "rare_label"): "classes [0, 1]: epsilon is infinite",
    ("mostlyai-engine", "lone_value"): "without that person in 0 of 4000",
    ("opacus", "number_of_records"): "delta at epsilon 0: 0.3227",
    ("smartnoise-synth", "mwem_categories"): "without the record that has it in 0",
}


@pytest.mark.parametrize(("library", "script"), SHOWN)
def test_a_counterexample_shows_its_violation_without_dpcheck(library, script):
    path = ROOT / f"examples/counterexamples/{script}.py"
    assert "dpcheck" not in path.read_text().split('"""')[2]
    done = subprocess.run([python_of(library), path], capture_output=True, text=True)
    assert done.returncode == 1, done.stderr
    assert SHOWN[library, script] in done.stdout


@pytest.mark.parametrize("library", libraries())
def test_what_is_quoted_is_in_the_package(library):
    python_of(library)
    script = ROOT / "benchmarks/board/quotes.py"
    words = [sys.executable, script, ROOT / ".venv-libraries", library]
    done = subprocess.run(words, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("pure-ldp:RAPPORClient", "violated"),
        ("multi-freq-ldpy:SS_Client", "violated"),
        ("diffprivlib:LinearRegression", "violated"),
        ("diffprivlib:LogisticRegression_rare_label", "violated"),
        ("diffprivlib:Laplace", "consistent"),
        ("opendp:laplace_integer", "consistent"),
    ],
)
def test_verdicts_in_the_environment_of_a_library(name, verdict):
    outside = Outside(python=python_of(name.partition(":")[0]))
    request = AuditRequest(name, max_runs=2000, tolerance=1.0, outside=outside)
    assert str(run_request(request).entries[0].verdict) == verdict


def test_every_target_of_an_installed_library_can_be_called():
    for library in libraries().values():
        python = ROOT / ".venv-libraries" / library.name / "bin/python"
        if not python.exists() or library.name not in ("opendp", "multi-freq-ldpy", "pure-ldp"):
            continue
        for name in library.targets:
            request = AuditRequest(
                f"{library.name}:{name}", max_runs=8, outside=Outside(python=str(python))
            )
            assert str(run_request(request).entries[0].verdict) in ("undecided", "violated"), name
