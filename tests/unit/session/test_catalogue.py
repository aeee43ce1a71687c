"""The catalogue of released libraries: what it lists, and how a name becomes something that runs."""

from __future__ import annotations

import json
import math
import sys

import pytest

from dpcheck.core.errors import NothingToAudit
from dpcheck.libraries import catalogue
from dpcheck.libraries.entry import Library
from dpcheck.session.catalogue import resolved
from dpcheck.session.external.plan import Outside
from dpcheck.session.external.program import end_programs
from dpcheck.session.run import AuditRequest, plan, run_request

LIBRARIES = catalogue.libraries()


def test_the_catalogue_is_as_large_as_promised():
    assert sum(len(library.targets) for library in LIBRARIES.values()) >= 150
    assert len(LIBRARIES) >= 15


@pytest.mark.parametrize("name", LIBRARIES)
def test_every_entry_quotes_its_claim_and_can_be_sent(name):
    for target in LIBRARIES[name].targets.values():
        assert target.says or target.reading
        assert bool(target.says) == bool(target.place)
        assert target.adjacency in ("replace-one", "add-remove", "zero-out")
        assert target.name.isidentifier()
        json.dumps(target.neighbours)
        assert all(len(pair) == 2 and pair[0] != pair[1] for pair in target.neighbours)
        if not callable(target.claim) and not isinstance(target.claim, dict):
            first = target.claim[0] if isinstance(target.claim, tuple) else target.claim
            assert 0 <= first < math.inf


def test_a_name_of_the_catalogue_runs_in_the_interpreter_that_is_named():
    request = AuditRequest("opendp:laplace_integer", outside=Outside(python="python-of-opendp"))
    found = resolved(request)
    assert found.target == "dpcheck.libraries.central.opendp:laplace_integer"
    assert found.outside.python == "python-of-opendp"


def test_what_is_not_in_the_catalogue_stays_as_it_is():
    for text in ("pptl_fs", "file.py:f", "package.module:f"):
        request = AuditRequest(text)
        assert resolved(request) is request


def test_a_wrong_name_is_answered_with_near_ones():
    with pytest.raises(NothingToAudit, match="near are RandomForestClassifier"):
        resolved(AuditRequest("diffprivlib:RandomForest"))


def test_a_library_that_is_not_installed_says_what_to_do(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NothingToAudit, match="make libraries ONLY=pure-ldp"):
        resolved(AuditRequest("pure-ldp:DEClient"))


def test_our_reading_goes_with_the_words_that_are_read():
    library = Library("x", module="x", requires=("x",), tried="1", says="a", place="p", reading="r")
    declared = {"claim": 1.0, "adjacency": "replace-one", "neighbours": [(0, 1)]}
    for name, words in (("same", {}), ("other", {"says": "b"}), ("ours", {"reading": "s"})):
        library.target(name, **declared, **words)(lambda data, rng: data)
    found = {name: (each.says, each.reading) for name, each in library.targets.items()}
    assert found == {"same": ("a", "r"), "other": ("b", ""), "ours": ("a", "s")}


def test_two_targets_of_one_name_are_refused():
    library = Library("x", module="x", requires=("x",), tried="1")
    add = library.target("f", claim=1.0, adjacency="replace-one", neighbours=[(0, 1)])
    add(lambda data, rng: data)
    with pytest.raises(ValueError, match="two targets f"):
        add(lambda data, rng: data)


def test_claims_of_all_kinds_are_read_from_another_interpreter():
    outside = Outside(python=sys.executable)
    try:
        plans, _ = plan(AuditRequest("diffprivlib:Laplace", outside=outside))
        assert plans[0].claim.budget.epsilon == 1.0
        plans, _ = plan(AuditRequest("flwr:ServerSideFixedClipping", outside=outside))
        assert plans[0].claim.event is not None
        plans, _ = plan(AuditRequest("pipeline-dp:count_laplace", outside=outside))
        assert (plans[0].claim.budget.epsilon, plans[0].claim.budget.delta) == (1.0, 0.01)
    finally:
        end_programs()


def test_a_name_of_the_catalogue_is_audited_to_the_end(monkeypatch):
    """The report too is made of what runs in the other interpreter, not of a module of that name."""
    monkeypatch.setattr("dpcheck.session.catalogue.interpreter", lambda *_: sys.executable)
    report = run_request(AuditRequest("diffprivlib:Laplace", max_runs=8))  # not installed here
    assert str(report.entries[0].verdict) == "undecided"
    assert "dpcheck audit diffprivlib:Laplace" in report.command
