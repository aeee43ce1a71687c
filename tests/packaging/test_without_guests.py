"""The papers and the catalogue are guests: without them everything else imports and works."""

import ast
import json
import os
import pkgutil
import subprocess
import sys
from pathlib import Path
from shutil import copytree, ignore_patterns

import pytest

import dpcheck
from dpcheck.session import registry

ROOT = Path(__file__).parents[2]
GUESTS = ("mechanisms", "audits", "families", "reproduce", "libraries")
COMMANDS = ("ftl", "reproduce.py")  # of the command line, theirs as well
HOSTS = ("accounting", "auditing", "core", "ledger", "program", "replay", "report", "verify")


@pytest.fixture(scope="module")
def left(tmp_path_factory):
    """dpcheck without its guests, and how to run Python on it alone."""
    folder = tmp_path_factory.mktemp("left")
    leave = ignore_patterns(*GUESTS)  # what was compiled comes along
    copytree(ROOT / "dpcheck", folder / "dpcheck", ignore=leave)
    for name in COMMANDS:
        path = folder / "dpcheck/cli" / name
        subprocess.run(["rm", "-r", path], check=True)
    (folder / "mine.py").write_text(
        "import dpcheck\n\n\n"
        "@dpcheck.audited(claim=1.0, adjacency='replace-one', neighbours=[(0.0, 1.0)])\n"
        "def noisy(data, rng):\n    return data + rng.laplace(scale=2.0)\n\n\n"
        "def mean(data, rng):\n"
        "    import numpy as np\n\n"
        "    clipped = np.clip(data, 0.0, 1.0)\n"
        "    return clipped.sum() / len(data) + rng.laplace(scale=1.0 / len(data))\n"
    )

    def run(*words, code=0):
        # -S: no site-packages' own dpcheck; what is needed of them comes back by the path.
        paths = [str(folder), *(p for p in sys.path if p.endswith("site-packages"))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "PYTHONSAFEPATH": "1"}
        done = subprocess.run(
            [sys.executable, "-S", *words],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr + done.stdout
        return done.stdout

    return run


def test_hosts_name_no_guest():
    """Not even inside of functions."""
    for room in HOSTS:
        for file in (ROOT / "dpcheck" / room).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ImportFrom):
                    named = [f"{node.module}.{alias.name}" for alias in node.names]
                elif isinstance(node, ast.Import):
                    named = [alias.name for alias in node.names]
                else:
                    continue
                for guest in GUESTS:
                    assert not any(n.startswith(f"dpcheck.{guest}") for n in named), file


def test_every_other_module_imports(left):
    rooms = [*HOSTS, "cli", "execution", "gate", "numerics", "session", "testing", "attack"]
    names = [
        module.name
        for room in rooms
        for module in pkgutil.walk_packages(
            [str(Path(dpcheck.__path__[0]) / room)], f"dpcheck.{room}."
        )
        if not module.name.startswith(("dpcheck.cli.ftl", "dpcheck.cli.reproduce"))
    ]
    assert len(names) > 400
    left(
        "-c",
        "import importlib, sys\n"
        f"for name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        f"assert not [m for m in sys.modules if m.startswith({tuple('dpcheck.' + g for g in GUESTS)!r})]",
    )


def test_the_walks_work(left):
    def command(*words, code=0):
        return left("-m", "dpcheck", *words, code=code)

    assert left(
        "-c", "import dpcheck; print(dpcheck.epsilon(dpcheck.PureDP(0.95), delta=0))"
    ).startswith("[0.95, 0.95]")
    audited = json.loads(command("audit", "mine.py:noisy", "--eps", "1", "--format", "json"))
    assert audited["audits"][0]["verdict"] in ("holds", "consistent")
    losses = json.loads(command("pld", "mine.py:noisy", "--runs", "100", "--format", "json"))
    assert max(losses["parts"][0]["losses"]) <= 0.5 + 1e-9
    assert "audit" in command("list")
    assert "ftl" not in command("--help")
    command("audit", "plr", code=2)
    command("audit", "diffprivlib:laplace", code=2)
    assert command("list", "--libraries") == "No catalogue of libraries is installed.\n"
    left(
        "-c",
        "import dpcheck\n"
        "with dpcheck.Ledger(dpcheck.Budget(1.0), 'replace-one') as ledger:\n"
        "    ledger.spend(ledger.dataset('people'), dpcheck.PureDP(0.5))\n",
    )


def test_another_package_registers_its_audits(tmp_path, monkeypatch):
    """The door of the papers: a package whose modules have AUDIT, named by an entry point."""
    package = tmp_path / "clinic"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "visits.py").write_text(
        "from dataclasses import replace\n"
        "from dpcheck.session import registry\n"
        "AUDIT = replace(registry.get('plr'), name='visits')\n"
    )
    info = tmp_path / "clinic-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: clinic\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[{registry.HOME}]\nclinic = clinic\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    registry._homes.cache_clear()
    try:
        assert "visits" in registry.names()
        assert registry.get("visits").name == "visits"
        assert registry.module_of("visits").__name__ == "clinic.visits"
    finally:
        registry._homes.cache_clear()
