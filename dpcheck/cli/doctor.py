"""`dpcheck doctor`: what is installed, what is missing for what, and what this machine has."""

from __future__ import annotations

import os
import platform
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path

import click

from dpcheck import __version__
from dpcheck.cli.exit_codes import ExitCode

# Extra -> (packages it brings, what needs them).
EXTRAS = {
    "report": (("jinja2", "matplotlib"), "HTML reports and plots"),
    "testing": (("hypothesis", "pytest"), "the pytest plugin and Hypothesis strategies"),
    "interop": (("dp_accounting",), "events of Google's dp-accounting"),
    "opacus": (("opacus", "torch"), "training with Opacus"),
    "huggingface": (("transformers", "peft"), "guards of Hugging Face's Trainer"),
    "lightning": (("lightning",), "guards of Lightning"),
    "flower": (("flwr",), "guards of Flower"),
    "nvflare": (("nvflare",), "guards of NVFlare"),
    "dask": (("distributed",), "audits on a dask cluster"),
    "deep": (("jax",), "audits of DPDA and G-DPDA"),
    "ftl": (("phe", "gmpy2", "cryptography"), "encrypted federated transfer learning"),
    "reproduce": (("mlxtend",), "some tables of the papers"),
}
NEEDED = ("click", "flint", "joblib", "numpy", "rich", "scipy", "sklearn", "threadpoolctl")
# Sizes with all radices of the transform, and a window as large as usual.
TRANSFORM_SIZES = (1000, 2187, 3125, 4320, 16_384)
_DISTRIBUTIONS = {"flint": "python-flint", "sklearn": "scikit-learn"}


@click.command(name="doctor")
def command() -> int:
    """Say what is installed, which extra is missing for what, and what this machine has.

    Exits with 2 if something that every command needs is missing, or if the Fourier transform is less
    accurate than certified bounds assume.
    """
    click.echo(f"dpcheck {__version__}, Python {platform.python_version()} ({sys.executable})")
    click.echo(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    broken = [name for name in NEEDED if find_spec(name) is None]
    for name in NEEDED:
        click.echo(f"  {name}: {_version(name)}")
    click.echo("extras:")
    for extra, (packages, use) in EXTRAS.items():
        missing = [name for name in packages if find_spec(name) is None]
        state = f"missing: pip install 'dpcheck[{extra}]'" if missing else "installed"
        click.echo(f"  {extra} ({use}): {state}")
    accurate = True
    if not broken:
        words, accurate = _transform()
        click.echo(words)
    click.echo(f"temporary folder: {_writable(Path(tempfile.gettempdir()))}")
    click.echo(f"this folder: {_writable(Path.cwd())}")
    click.echo(
        'shell completion: eval "$(_DPCHECK_COMPLETE=bash_source dpcheck)" (or zsh_source, '
        "fish_source)"
    )
    if broken:
        click.echo(f"broken: {', '.join(broken)} cannot be imported; reinstall dpcheck.", err=True)
        return ExitCode.ERROR
    return ExitCode.OK if accurate else ExitCode.ERROR


def _transform() -> tuple[str, bool]:
    """Whether the installed FFT is as accurate as certified bounds take it to be, proved for some sizes."""
    from dpcheck.numerics.fourier import TWIDDLE_UNITS
    from dpcheck.numerics.twiddles import twiddle_units

    worst = max(map(twiddle_units, TRANSFORM_SIZES))
    found = f"factors within {worst:.2f} units, {TWIDDLE_UNITS:g} are assumed"
    if worst > TWIDDLE_UNITS:
        return (
            f"Fourier transform: {found}; certified bounds do not hold here, use another scipy",
            False,
        )
    return (
        f"Fourier transform: {found} (proved for sizes {', '.join(map(str, TRANSFORM_SIZES))})",
        True,
    )


def _version(package: str) -> str:
    try:
        return version(_DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        return "missing"


def _writable(folder: Path) -> str:
    return (
        "writable" if os.access(folder, os.W_OK) else "not writable: stores and reports will fail"
    )
