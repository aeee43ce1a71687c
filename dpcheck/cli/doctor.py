"""`dpcheck doctor`: what is installed, what is missing for what, and what this machine has."""

from __future__ import annotations

import os
import platform
import re
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, requires, version
from importlib.util import find_spec
from pathlib import Path

import click

from dpcheck import __version__
from dpcheck.cli.terminal.exit_codes import ExitCode

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
    "postgresql": (("psycopg",), "ledgers that several machines share"),
    "dask": (("distributed",), "audits on a dask cluster"),
    "deep": (("jax",), "audits of DPDA and G-DPDA"),
    "ftl": (("phe", "gmpy2", "cryptography"), "encrypted federated transfer learning"),
    "reproduce": (("mlxtend",), "some tables of the papers"),
}
NEEDED = (
    *("click", "cloudpickle", "flint", "joblib", "numpy", "rich", "scipy", "sklearn"),
    "threadpoolctl",
)
# Sizes with all radices of the transform, and a window as large as usual.
TRANSFORM_SIZES = (1000, 2187, 3125, 4320, 16_384)
_DISTRIBUTIONS = {
    "dp_accounting": "dp-accounting",
    "flint": "python-flint",
    "sklearn": "scikit-learn",
}


@click.command(name="doctor")
def command() -> int:
    """Show what is installed, what is missing, and what this machine can do.

    Exits with 2 if something that every command needs is missing or older than dpcheck supports, or if
    the Fourier transform is less accurate than certified bounds assume.
    """
    click.echo(f"dpcheck {__version__}, Python {platform.python_version()} ({sys.executable})")
    click.echo(f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores")
    broken = [name for name in NEEDED if find_spec(name) is None]
    lowest = bounds(">=")
    highest = bounds("<")
    unfit = {}
    for name in NEEDED:
        found, least = _version(name), lowest.get(_distribution(name), "")
        most = highest.get(_distribution(name), "")
        told = ""
        if name not in broken and is_older(found, least):
            unfit[name], told = f">={least}", f", older than {least}, which dpcheck needs"
        elif most and name not in broken and not is_older(found, most):
            unfit[name], told = f"<{most}", f", and dpcheck needs one below {most}"
        click.echo(f"  {name}: {found}{told}")
    click.echo("extras:")
    for extra, (packages, use) in EXTRAS.items():
        click.echo(f"  {extra} ({use}): {_extra(extra, packages, lowest)}")
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
    if unfit:
        wanted = " ".join(f"'{_distribution(name)}{bound}'" for name, bound in unfit.items())
        click.echo(f"does not fit: run pip install {wanted}", err=True)
    return ExitCode.ERROR if broken or unfit or not accurate else ExitCode.OK


def bounds(sign: str) -> dict[str, str]:
    """What dpcheck and its extras declare of versions: ">=" for the lowest, "<" for the first refused."""
    try:
        declared = requires("dpcheck") or []
    except PackageNotFoundError:
        return {}
    form = re.compile(rf"([\w.-]+)[^;]*?{sign}\s*([\d.]+)")
    found = map(form.match, declared)
    return {match[1].lower(): match[2] for match in found if match is not None}


def is_older(found: str, least: str) -> bool:
    """Whether a version is below a bound; what is no plain version is not.

    >>> is_older("1.9.3", "1.26"), is_older("2.0.0rc1", "1.26"), is_older("1.26", "1.26.0")
    (True, False, False)
    """

    def numbers(text: str) -> list[int]:
        plain = re.match(r"\d+(\.\d+)*", text)
        return [] if plain is None else [int(part) for part in plain[0].split(".")]

    mine, bound = numbers(found), numbers(least)
    width = max(len(mine), len(bound))
    padded = [part + [0] * (width - len(part)) for part in (mine, bound)]
    return bool(mine) and padded[0] < padded[1]


def _extra(extra: str, packages: tuple[str, ...], lowest: dict[str, str]) -> str:
    if any(find_spec(name) is None for name in packages):
        return f"missing: pip install 'dpcheck[{extra}]'"
    for name in packages:
        least = lowest.get(_distribution(name), "")
        if is_older(_version(name), least):
            return f"{name} {_version(name)} is older than {least}: pip install 'dpcheck[{extra}]'"
    return "installed"


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


def _distribution(package: str) -> str:
    return _DISTRIBUTIONS.get(package, package)


def _version(package: str) -> str:
    try:
        return version(_distribution(package))
    except PackageNotFoundError:
        return "missing"


def _writable(folder: Path) -> str:
    return (
        "writable" if os.access(folder, os.W_OK) else "not writable: stores and reports will fail"
    )
