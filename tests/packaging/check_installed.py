"""Run by `make wheel` inside a clean environment: the installed wheel is whole and names nothing else.

Without extras it accounts, audits somebody's function, guards a project and writes reports; what needs
an extra says which, and how to install it.
"""

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

DPCHECK = Path(sys.executable).with_name("dpcheck")
MECHANISM = """
import dpcheck
import numpy as np

@dpcheck.audited(claim=1.0, adjacency="replace-one", neighbours=[([0.0], [1.0])])
@dpcheck.batched
def noisy(data, size, rng):
    return data[0] + rng.laplace(scale=SCALE, size=size)
"""
# Command -> the extra it needs.
NEEDS = {
    ("audit", "mech.py:noisy", "--max-runs", "60000", "--report", "html=r.html"): "report",
    ("audit", "dpda", "--eps", "1", "--delta", "1e-5"): "deep",
    ("audit", "mech.py:noisy", "--backend", "dask", "--scheduler", "tcp://127.0.0.1:1"): "dask",
}
# Python -> the extra it needs.
IMPORTS = {
    "import dpcheck.integrations.opacus": "opacus",
    "import dpcheck.testing.strategies": "testing",
    "from dpcheck.integrations.dp_accounting import from_dp_event as f; f(None)": "interop",
}


def shell(*arguments: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [DPCHECK, *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=600
    )


def check_names() -> int:
    import dpcheck
    import dpcheck.audits
    import dpcheck.mechanisms

    assert "site-packages" in dpcheck.__file__, dpcheck.__file__
    for name in ("mechanisms", "audits"):
        assert importlib.util.find_spec(name) is None, f"a top-level module {name} was installed"
    files = importlib.metadata.files("dpcheck") or []
    tops = {Path(str(file)).parts[0] for file in files}
    foreign = {t for t in tops if not t.startswith("dpcheck") and t != ".."}
    assert not foreign, foreign
    for needed in ("py.typed", "report/templates/report.html", "report/templates/report.css"):
        assert any(str(f) == f"dpcheck/{needed}" for f in files), needed
    bound = dpcheck.epsilon(dpcheck.PureDP(0.5) * 2)
    assert bound.upper == 1.0, bound
    assert dpcheck.__version__ in shell("--version").stdout
    return len(files)


def check_gate(folder: Path) -> None:
    (folder / "mech.py").write_text("SCALE = 1.0\n" + MECHANISM)
    (folder / "dpcheck.toml").write_text(
        'max-runs = 60000\n[[audits]]\ntarget = "mech.py:noisy"\ndataset = "people"\n'
        '[budgets.people]\nepsilon = 1\nadjacency = "replace-one"\n'
    )
    done = shell(
        "account",
        "sampled-gaussian",
        "--noise",
        "6",
        "--rate",
        "0.06",
        "--steps",
        "100",
        "--delta",
        "1e-5",
    )
    assert done.returncode == 0, done.stderr
    done = shell("audit", "mech.py:noisy", "--max-runs", "60000", folder=folder)
    assert done.returncode == 0, done.stderr
    (folder / "mech.py").write_text("SCALE = 0.8\n" + MECHANISM)
    reports = "sarif=r.sarif,junit=r.xml"
    done = shell("check", "--report", reports, folder=folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "violated" in done.stdout
    assert json.loads((folder / "r.sarif").read_text())["version"] == "2.1.0"
    # The audit, and the budget that rests on it.
    assert ElementTree.parse(folder / "r.xml").getroot().get("failures") == "2"


def check_extras(folder: Path) -> None:
    for module in (
        "jax",
        "torch",
        "matplotlib",
        "jinja2",
        "pandas",
        "distributed",
        "phe",
        "dp_accounting",
        "hypothesis",
        "pytest",
    ):
        assert importlib.util.find_spec(module) is None, f"{module} came without being asked for"
    for arguments, extra in NEEDS.items():
        done = shell(*arguments, folder=folder)
        assert done.returncode == 2, done.stdout + done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        assert f"pip install 'dpcheck[{extra}]'" in done.stderr, done.stderr
    for code, extra in IMPORTS.items():
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=600
        )
        assert f"pip install 'dpcheck[{extra}]'" in done.stderr, code + done.stderr


def main() -> None:
    files = check_names()
    with tempfile.TemporaryDirectory() as folder:
        check_gate(Path(folder))
        check_extras(Path(folder))
    version = importlib.metadata.version("dpcheck")
    print(f"wheel ok: dpcheck {version}, {files} files; audits, gate, reports without extras")


if __name__ == "__main__":
    main()
