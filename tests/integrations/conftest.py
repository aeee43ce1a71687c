"""Run by `make test-integrations`, each file in the environment that has its library."""

import importlib.util
from pathlib import Path

import pytest

from dpcheck.auditing.mechanism import declaration
from dpcheck.session.assertion import audit_function

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="session")
def load():
    """A module of examples/libraries by name."""

    def found(name):
        spec = importlib.util.spec_from_file_location(name, EXAMPLES / "libraries" / f"{name}.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    return found


@pytest.fixture(scope="session")
def audit():
    """Audit a target against what it declares."""

    def run(target, confidence=0.999, **options):
        said = declaration(target)
        return audit_function(
            target,
            claim=said.claim,
            neighbours=said.neighbours,
            adjacency=said.adjacency,
            confidence=confidence,
            **options,
        )

    return run
