"""`dpcheck.audit(model)`: a model as somebody set it up; and the settings that vary what the papers vary."""

import numpy as np
import pytest

import dpcheck
from dpcheck.core.errors import InvalidParameter
from dpcheck.mechanisms import PLRFS, PPTLFS, PSTF, PSTS, SimComb
from dpcheck.session import registry
from dpcheck.session.registry import AuditSetup


def worst(noise, q, modulus):
    slopes = np.linspace(0.5, 1, 20_001)
    return noise * q / 2 + np.max(
        noise * q * slopes / 2 + np.log1p(slopes * (1 - slopes) * q * q / modulus)
    )


def test_importances_of_a_model_hold():
    q, n, lam = np.array([0.6, 0.3, 0.1]), 500, 0.01
    model = PLRFS(1.0, lam, groups=3, importances=tuple(q))
    (entry,) = dpcheck.audit(model, settings={"rows": n, "features": 9}).entries
    noise = 1 - 2 * np.log1p(q**2 / (4 * n * lam)).sum()
    truth = sum(worst(noise, each, n * lam) for each in q)
    assert entry.verdict == "holds"
    assert entry.proved.epsilon == pytest.approx(truth, rel=1e-6)
    assert entry.observed.epsilon == pytest.approx(truth, rel=1e-3)


def test_a_printed_model_is_violated_and_its_witness_is_a_program(capsys):
    model = PLRFS(1.0, 0.0015, groups=5, variant="printed")
    (entry,) = dpcheck.audit(model, settings={"rows": 100, "features": 10}).entries
    assert entry.verdict == "violated"
    assert "audit" not in entry.witness  # nothing to replay it from but itself
    exec(entry.witness["python"], {})
    assert float(capsys.readouterr().out) == pytest.approx(entry.witness["loss"], rel=1e-9)


@pytest.mark.parametrize(
    ("model", "claims"),
    [
        (PPTLFS(1.0, 2.0, 0.01, 0.02, groups=2, eta=0.3, high_share=0.25), (1.0, 2.0)),
        (SimComb(0.5, 3.0, 0.02, 0.01, eta=1.0), (0.5, 3.0)),
        (PSTF(1.0, [0.05, 0.01], groups=2, feature_importances=[4, 3, 2, 1]), (1.0,)),
        (PSTS(1.0, 0.02, partitions=2, high_regularization=0.3), (1.0,)),
    ],
)
def test_what_the_papers_vary_holds_for_every_part(model, claims):
    report = dpcheck.audit(model, settings={"rows": 200, "features": 4})
    assert tuple(entry.claim.budget.epsilon for entry in report.entries) == claims
    for entry in report.entries:
        assert entry.verdict == "holds"
        assert entry.observed.epsilon <= entry.proved.epsilon <= entry.claim.budget.epsilon


def test_the_same_can_be_set_on_the_command_line():
    audit = registry.get("pptl_fs")
    given = ("importances=0.7,0.3", "regularizations=0.05,0.01", "eta=0.5", "epsilon_target=2")
    shape = ("rows=200", "features=4", "groups=2", "high_share=0.25", "high_regularization=0.2")
    source, target = audit.build(AuditSetup(1.0, settings=audit.settings((*shape, *given))))
    assert (source.claim.budget.epsilon, target.claim.budget.epsilon) == (1.0, 2.0)
    blocks = source.event.events
    assert [block.norm_bound for block in blocks] == [0.7, 0.3]
    assert [block.regularization for block in blocks] == [0.05, 0.01]
    top = target.event.events[-1]
    assert (top.rows, top.regularization) == (50, 0.2)
    with pytest.raises(InvalidParameter, match="importances"):
        audit.build(AuditSetup(1.0, settings=audit.settings((*shape, "importances=some"))))


def test_a_model_is_not_told_what_it_claims():
    with pytest.raises(InvalidParameter, match="knows its own variant"):
        dpcheck.audit(PLRFS(1.0), epsilon=2.0)
