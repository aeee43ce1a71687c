"""`assert_private` and `dpcheck.audit` of a function take its proof, as `dpcheck audit file.py:f` does."""

from __future__ import annotations

import importlib.util

import numpy as np
import pandas as pd
import pytest

import dpcheck
from dpcheck.core.adjacency import Adjacency
from dpcheck.core.errors import InvalidRecords, ProofsContradict, Undecided
from dpcheck.program.described import alike
from dpcheck.session import proving

UNIT = dpcheck.records(x=dpcheck.number(0, 1), rows=20)
DESCRIBED = {"records": UNIT, "form": "array", "adjacency": "replace-one"}
ZEROS = np.zeros(5, dtype=bool)
ONE = ZEROS | (np.arange(5) == 2)
GIVEN = {"neighbours": [(ZEROS, ONE)], "adjacency": "replace-one"}
SEEN = []


def total(x, rng):
    return x.sum() + rng.laplace()


def total_remembered(x, rng):
    SEEN.append(len(x))  # what outlives the call: not readable
    return x.sum() + rng.laplace()


def middle(x, rng):
    return np.clip(np.median(x), 0, 1) + rng.laplace()


@pytest.mark.parametrize("data", [DESCRIBED, GIVEN], ids=["records", "neighbours"])
def test_a_proved_function_holds_with_few_runs(data):
    entry = dpcheck.assert_private(total, epsilon=1.0, **data)
    assert entry.verdict is dpcheck.Verdict.HOLDS
    assert entry.proved.epsilon == 1.0
    assert entry.observed.runs + entry.observed.learning_runs < 100
    assert "test_assertions.py" in entry.conformance  # which line releases


def test_without_a_proof_nothing_changes():
    entry = dpcheck.assert_private(total_remembered, epsilon=1.0, max_runs=20_000, **GIVEN)
    assert entry.verdict is dpcheck.Verdict.CONSISTENT
    assert entry.proved is None
    assert any("not provable" in note for note in entry.notes)
    with pytest.raises(AssertionError, match="epsilon >= 1"):
        dpcheck.assert_private(total_remembered, epsilon=0.5, max_runs=20_000, **GIVEN)


SOURCE = """
import dpcheck


@dpcheck.audited(
    claim=0.7, adjacency="replace-one", records=dpcheck.records(x=dpcheck.number(0, 1), rows=20), form="array"
)
def total(x, rng):
    return x.sum() + rng.laplace(scale={scale})
"""


@pytest.mark.parametrize("scale", [2.0, 1.0], ids=["within", "above"])
def test_by_name_and_as_an_object_the_entry_is_the_same(tmp_path, scale):
    path = tmp_path / "sums.py"
    path.write_text(SOURCE.format(scale=scale))
    spec = importlib.util.spec_from_file_location("sums", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = [dpcheck.audit(each).entries[0] for each in (f"{path}:total", module.total)]
    one, other = ((e.verdict, e.why, e.event, e.conformance, e.proved) for e in found)
    assert one == other
    assert one[0] is (dpcheck.Verdict.HOLDS if scale == 2.0 else dpcheck.Verdict.VIOLATED)


@pytest.fixture
def wrong(monkeypatch):
    """The prover says half of what is true."""
    right = proving.proof_of

    def half(*args, **kwargs):
        found = right(*args, **kwargs)
        return type(found)(dpcheck.PureDP(0.5), found.releases, found.adjacency, found.assumes)

    monkeypatch.setattr(proving, "proof_of", half)


@pytest.mark.parametrize("data", [DESCRIBED, GIVEN], ids=["records", "neighbours"])
def test_a_wrong_proof_is_an_error_with_the_case(wrong, data):
    with pytest.raises(ProofsContradict) as caught:
        dpcheck.assert_private(total, epsilon=0.5, **data)
    assert "0.99999" in str(caught.value)
    assert "0.5 was proved" in str(caught.value)
    assert len(caught.value.data["case"]) == 2
    with pytest.raises(ProofsContradict):
        dpcheck.audit(total, epsilon=2.0, **data)


def test_a_wrong_proof_that_its_attack_lets_pass_contradicts_the_audit(wrong, monkeypatch):
    monkeypatch.setattr(proving, "attack", lambda *_: ())
    with pytest.raises(ProofsContradict, match=r"at most 0\.5 by the proof .* at least 0\.99999"):
        dpcheck.assert_private(total, epsilon=0.5, **GIVEN)


def test_a_proof_above_the_claim_is_undecided_where_no_pair_attains_it():
    # The median of these data does not move; that of others moves by 1.
    with pytest.raises(Undecided, match="proved at most 1, attained 0") as caught:
        dpcheck.assert_private(middle, epsilon=0.5, max_runs=2000, **GIVEN)
    assert "give neighbours that attain it" in str(caught.value)


def test_pairs_of_several_sizes_have_no_proof():
    def mean(x, rng):
        return x.mean() + rng.laplace(scale=1 / 5)

    pair = (ZEROS[:2], ONE[1:3])  # epsilon 2.5 there, and 1 on the first
    with pytest.raises(AssertionError, match=r"epsilon >= 2\.5"):
        dpcheck.assert_private(
            mean, epsilon=1.0, neighbours=[(ZEROS, ONE), pair], adjacency="replace-one"
        )


def test_a_person_of_two_rows_is_charged_for_both(tmp_path):
    path = tmp_path / "two.py"
    path.write_text(
        "import dpcheck\nimport numpy as np\n\nD = np.zeros(5, dtype=bool)\nE = D.copy()\nE[0] = True\n\n\n"
        "@dpcheck.audited(\n"
        "    claim=1.0, adjacency='replace-one', neighbours=[(D, E)], rows_per_person=2\n"
        ")\n"
        "def total(x, rng):\n    return x.sum() + rng.laplace()\n"
    )
    entry = dpcheck.audit(f"{path}:total").entries[0]
    assert entry.proved.epsilon == 2.0
    assert entry.verdict is dpcheck.Verdict.UNDECIDED


def test_claims_about_answers_have_no_proof():
    close = dpcheck.relation("answers", norm="inf", bound=1)
    given = {"neighbours": [([0.0, 1.0], [1.0, 1.0])], "adjacency": close}
    entry = dpcheck.assert_private(
        lambda x, rng: x[0] + rng.laplace(), epsilon=1.0, max_runs=20_000, **given
    )
    assert entry.proved is None


FLOATS = np.zeros(3)
FRAME = pd.DataFrame({"a": [1.0, 2.0], "b": pd.Categorical(["u", "v"])})
LIKE = [
    (FLOATS, FLOATS + 1),
    (FRAME, FRAME[::-1]),
    ([{"a": 1, "b": "x"}], [{"a": 2, "b": "y"}]),
    ((FLOATS, [1, 2, 3]), (FLOATS, [4, 5, 6])),
]
UNLIKE = [
    (FLOATS, FLOATS.astype(int)),
    (FLOATS, FLOATS.astype(np.float32)),
    (FLOATS, list(FLOATS)),
    (FLOATS, FLOATS[:, None]),
    (FLOATS, {"x": FLOATS}),
    ({"x": FLOATS}, {"y": FLOATS}),
    (FRAME, FRAME[["b", "a"]]),
    (FRAME, FRAME.assign(b=["u", "v"])),
    (FRAME, FRAME.assign(b=FRAME.b.cat.add_categories(["w"]))),
    (FRAME.a, FRAME.a.astype(int)),
    ([{"a": 1}], [{"a": 1.5}]),
    ([{"a": 1}], [{"a": "x"}]),
    ([(1, "x")], [{0: 1, 1: "x"}]),
]


@pytest.mark.parametrize("adjacency", Adjacency)
def test_an_example_speaks_of_data_like_itself(adjacency):
    for first, second in LIKE:
        assert alike(first, second, adjacency)
        assert alike(second, first, adjacency)
    for first, second in UNLIKE:
        assert not alike(first, second, adjacency)
        assert not alike(second, first, adjacency)
    several = adjacency is Adjacency.ADD_REMOVE
    for first, second in [(FLOATS, FLOATS[:2]), (FRAME, FRAME[:1]), ([1.0], [])]:
        assert alike(first, second, adjacency) == several
    with pytest.raises(InvalidRecords):
        alike(FLOATS, FLOATS.view(np.matrix), adjacency)
