"""The CI workflow that `dpcheck init` writes: it installs this dpcheck and what the project needs."""

from __future__ import annotations

import json
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

UNKNOWN = "git+https://YOUR.GIT.HOST/dpcheck.git@COMMIT"


def workflow(root: Path) -> str:
    """A GitHub workflow that runs the gate on the project in `root`."""
    source = dpcheck_source()
    remark = "where dpcheck is installed from: what `dpcheck init` ran with"
    if source == f"dpcheck @ {UNKNOWN}":
        remark = "dpcheck is not on PyPI yet: name a repository and a commit to install it from"
    return f"""name: privacy
on: [push, pull_request]
permissions:
  contents: read
  security-events: write
env:
  DPCHECK: "{source}"  # {remark}
jobs:
  gate:
    runs-on: ubuntu-latest
    timeout-minutes: 20
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.12"
      - run: python -m pip install {own_needs(root)}
      - run: python -m pip install "$DPCHECK"
      - run: dpcheck check --format github --report sarif=dpcheck.sarif,markdown=dpcheck.md
      - run: cat dpcheck.md >> "$GITHUB_STEP_SUMMARY"
        if: always()
      - uses: github/codeql-action/upload-sarif@v3
        if: always()
        with:
          sarif_file: dpcheck.sarif
"""


def dpcheck_source() -> str:
    """What to hand to pip to get the dpcheck that is running, by the record pip keeps of it (PEP 610)."""
    try:
        installed = distribution("dpcheck")
        recorded = installed.read_text("direct_url.json")
    except (PackageNotFoundError, OSError):
        return f"dpcheck @ {UNKNOWN}"
    if recorded is None and installed.read_text("INSTALLER") is not None:  # from an index
        return f"dpcheck=={installed.version}"
    try:
        found = json.loads(recorded or "")
        vcs = found["vcs_info"]
        if found["url"].startswith("file:"):  # of this machine
            return f"dpcheck @ {UNKNOWN}"
        return f"dpcheck @ {vcs['vcs']}+{found['url']}@{vcs['commit_id']}"
    except (AttributeError, KeyError, TypeError, ValueError):  # a folder, or damaged
        return f"dpcheck @ {UNKNOWN}"


def own_needs(root: Path) -> str:
    """What the audited code itself needs: its requirements, its package, or pandas, which the claim uses."""
    if (root / "requirements.txt").is_file():
        return "-r requirements.txt pandas"
    try:
        described = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        described = {}
    return ". pandas" if "project" in described else "pandas"
