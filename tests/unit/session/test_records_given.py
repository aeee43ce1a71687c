"""`dpcheck.audit` and `assert_private` on a description of records, and what is refused instead."""

import numpy as np
import pytest

import dpcheck
from dpcheck.core.errors import MechanismFailed
from dpcheck.execution.parallel import Workers
from dpcheck.session.run import AuditRequest, run_request

AGES = dpcheck.records(age=dpcheck.number(0, 120), rows=3)


def _sum(scale):
    return lambda people, rng: sum(person["age"] for person in people) + rng.laplace(scale=scale)


def test_neighbours_are_searched_among_the_records():
    report = dpcheck.audit(
        _sum(12.0), epsilon=1.0, records=AGES, form="dicts", adjacency="add-remove", max_runs=500
    )
    (entry,) = report.entries
    assert entry.verdict is dpcheck.Verdict.VIOLATED
    assert entry.observed.epsilon == pytest.approx(120 / 12, rel=1e-6)  # the sum moves by 120
    assert any("searched among" in note for note in entry.notes)


def test_a_test_fails_with_the_pair_it_found():
    with pytest.raises(AssertionError, match=r"120\.0"):
        dpcheck.assert_private(
            _sum(12.0), epsilon=1.0, records=AGES, form="dicts", adjacency="replace-one"
        )


def test_a_decorated_function_says_all_of_it_itself():
    declared = dpcheck.audited(claim=10.0, adjacency="add-remove", records=AGES, form="dicts")
    function = declared(_sum(10.0))
    (entry,) = dpcheck.audit(function, max_runs=500).entries
    assert entry.claim.budget.epsilon == 10.0
    assert entry.claim.adjacency is dpcheck.Adjacency.ADD_REMOVE
    assert entry.observed.epsilon == pytest.approx(12.0, rel=1e-6)
    (tighter,) = dpcheck.audit(function, epsilon=13.0, max_runs=500).entries
    assert tighter.claim.budget.epsilon == 13.0
    assert tighter.verdict is not dpcheck.Verdict.VIOLATED


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"neighbours": AGES}, "as records="),
        ({"neighbours": 5}, "a list of pairs"),
        ({"neighbours": np.zeros((3, 2))}, "a list of pairs"),
        ({"neighbours": {"D": [1.0], "D2": [2.0]}}, "a list of pairs"),
        ({"neighbours": [1, 2]}, r"neighbours\[0\] must be a pair"),
        ({"neighbours": [([], [{"age": 1.0}])], "records": AGES}, "not both"),
        ({"records": AGES, "form": "xml"}, "unknown form"),
        ({"records": [([1], [2])]}, "guessed from a DataFrame"),
        ({}, "no neighbouring datasets"),
    ],
)
def test_what_is_no_neighbours_is_told_so(given, text):
    for ask in (dpcheck.audit, dpcheck.assert_private):
        with pytest.raises(dpcheck.DpcheckError, match=text):
            ask(_sum(1.0), epsilon=1.0, adjacency="add-remove", **given)


def test_a_pair_of_numbers_is_no_claim():
    with pytest.raises(dpcheck.InvalidParameter, match=r"dpcheck\.Budget\(epsilon, delta\)"):
        dpcheck.audit(
            _sum(1.0), claim=(1.0, 1e-6), records=AGES, adjacency="add-remove", max_runs=10
        )


def test_a_function_that_takes_another_form_is_told_what_it_was_given(tmp_path):
    (tmp_path / "people.py").write_text(
        "import dpcheck\nimport numpy as np\n\n\n"
        "@dpcheck.audited(claim=1.0, adjacency='replace-one',\n"
        "                 records=dpcheck.records(age=dpcheck.number(0, 120), rows=3), form='dicts')\n"
        "def total(ages, rng):\n"
        "    return np.asarray(ages, dtype=float).sum() + rng.laplace(scale=120.0)\n"
    )
    request = AuditRequest(f"{tmp_path}/people.py:total", workers=Workers(jobs=1))
    with pytest.raises(MechanismFailed, match="'dicts', a list with one dict for each record"):
        run_request(request)
