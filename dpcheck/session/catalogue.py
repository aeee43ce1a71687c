"""A mechanism of the catalogue by its name, library:mechanism, and the interpreter it runs in."""

from __future__ import annotations

import difflib
import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from dpcheck.core.errors import NothingToAudit

if TYPE_CHECKING:
    from dpcheck.session.run import AuditRequest

ENVIRONMENTS = Path(".venv-libraries")  # where `make libraries` puts them


def installed() -> bool:
    """Whether there is a catalogue; it may be left out."""
    return importlib.util.find_spec("dpcheck.libraries") is not None


def resolved(request: AuditRequest) -> AuditRequest:
    """The request with a mechanism of the catalogue as another interpreter can load it.

    What is not in the catalogue stays as it is.
    """
    library, sign, name = request.target.partition(":")
    if (
        not installed()
        or not sign
        or request.outside.command is not None
        or library.endswith(".py")
    ):
        return request
    from dpcheck.libraries.catalogue import modules

    module = modules().get(library)
    if module is None:
        return request
    known = module.LIBRARY.targets
    if name not in known:
        near = difflib.get_close_matches(name, known, n=3, cutoff=0.4)
        raise NothingToAudit(
            f"the catalogue has no {name} of {library}"
            + (f"; near are {', '.join(near)}." if near else ".")
            + " `dpcheck list --libraries` shows all.",
        )
    python = request.outside.python or interpreter(library, module.LIBRARY.module)
    outside = replace(request.outside, python=python)
    return replace(request, target=f"{module.__name__}:{name}", outside=outside)


def interpreter(library: str, module: str) -> str:
    """The interpreter that has a library: an environment of `make libraries`, or this one."""
    own = ENVIRONMENTS / library / "bin" / "python"
    if own.exists():
        return str(own)
    if importlib.util.find_spec(module) is not None:
        return sys.executable
    raise NothingToAudit(
        f"{library} is not installed here. Name the interpreter of an environment that has it with "
        f"--python, or let `make libraries ONLY={library}` make one.",
    )
