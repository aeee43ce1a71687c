"""Evidence: bands cover the curve, memory is bounded, error budgets add up, verdicts stay."""

import json
import math
import re
import sys
from dataclasses import asdict, replace

import numpy as np
import pytest
from scipy.stats import beta, binom, laplace, norm

import dpcheck
from dpcheck.auditing.evidence import _ascending, gather
from dpcheck.auditing.limits import Limits
from dpcheck.auditing.mechanism import Mechanism, Pair
from dpcheck.auditing.part import audit_part
from dpcheck.auditing.plan import PartPlan
from dpcheck.auditing.statistics.bands import clopper_pearson, convex, tradeoff_band
from dpcheck.auditing.statistics.loss_bands import _envelope, loss_band, mean_lower
from dpcheck.core.audit_result import AuditReport
from dpcheck.execution.parallel import Workers
from dpcheck.execution.runner import Runner
from dpcheck.session.claims import claimed_curve, read_claim
from dpcheck.session.provenance import rerun_command, rerun_python
from dpcheck.session.run import AuditRequest, run_request

RATES = np.linspace(0, 1, 401)


def at(points, rates=RATES):
    x, y = zip(*points, strict=True)
    return np.interp(rates, x, y)


def gaussian_tradeoff(mu, rates=RATES):
    return norm.cdf(norm.ppf(1 - rates) - mu)


def laplace_tradeoff(shift, rates=RATES):
    """Thresholds of the output are best: the likelihood ratio of shifted Laplace laws is monotone."""
    return laplace.cdf(laplace.ppf(1 - rates) - shift)


def test_clopper_pearson_is_the_textbook_interval():
    for hits, runs in ((0, 20), (7, 20), (20, 20)):
        low, high = clopper_pearson(hits, runs, 0.1)
        # The defining tails, from the binomial itself.
        if hits > 0:
            assert binom.sf(hits - 1, runs, low) == pytest.approx(0.05)
            assert low == pytest.approx(beta.ppf(0.05, hits, runs - hits + 1))
        if hits < runs:
            assert binom.cdf(hits, runs, high) == pytest.approx(0.05)
    assert clopper_pearson(0, 20, 0.1)[0] == 0
    assert clopper_pearson(20, 20, 0.1)[1] == 1


def test_counting_band_covers_the_exact_curve_of_gaussian_noise():
    rng, runs, alpha, trials, mu = np.random.default_rng(5), 300, 0.3, 400, 1.0
    thresholds = np.linspace(-1.5, 2.5, 12)
    # Only tests at these thresholds are promised below; above, so is any test of the score.
    truth = gaussian_tradeoff(mu)
    missed = refuted = 0
    for _ in range(trials):
        one, two = rng.normal(mu, 1, runs), rng.normal(0, 1, runs)
        counts = [(side[:, None] >= thresholds).sum(axis=0) for side in (one, two)]
        band = tradeoff_band(*counts, runs, alpha)
        low, high = at(band.lower), at(band.upper)
        missed += bool((low > truth + 1e-12).any() or at_points(band.upper, mu).any())
        refuted += leaves(gaussian_tradeoff(3 * mu), low, high)
    assert missed / trials <= alpha
    assert refuted == trials  # a test that can fail: another curve never fits


def at_points(upper, mu):
    """Whether a corner of the upper side lies below the true curve."""
    x, y = (np.array(v) for v in zip(*upper, strict=True))
    return y < gaussian_tradeoff(mu, x) - 1e-12


def gaussian_losses(rng, runs):
    return [0.5 * rng.normal(mean, 1, runs) - 0.125 for mean in (0.5, 0.0)]


def laplace_losses(rng, runs):
    outputs = [rng.laplace(centre, 1, runs) for centre in (1.0, 0.0)]
    return [abs(side) - abs(side - 1) for side in outputs]


@pytest.mark.parametrize(
    ("sample", "curve", "shift", "reach"),
    [(gaussian_losses, gaussian_tradeoff, 0.5, 2.0), (laplace_losses, laplace_tradeoff, 1.0, 1.2)],
)
def test_band_of_exact_losses_covers_the_exact_curve(sample, curve, shift, reach):
    rng, runs, alpha, trials = np.random.default_rng(6), 250, 0.3, 30
    edges = np.linspace(-reach, reach, 101)
    missed, refuted = 0, 0
    for _ in range(trials):
        counts = [binned(side, edges) for side in sample(rng, runs)]
        band = loss_band(*counts, edges, alpha)
        low, high = at(band.lower), at(band.upper)
        missed += leaves(curve(shift), low, high)
        refuted += leaves(curve(2 * shift), low, high)
    assert missed / trials <= alpha
    assert refuted == trials  # a test that can fail: another curve never fits


def binned(losses, edges):
    counts = np.bincount(np.searchsorted(edges, losses, side="right"), minlength=len(edges) + 1)
    return counts.astype(float)


def leaves(curve, low, high):
    return bool((low > curve + 1e-12).any() or (high < curve - 1e-12).any())


def test_band_of_exact_losses_is_narrow_where_losses_are():
    rng, edges = np.random.default_rng(7), np.linspace(-0.4, 0.4, 257)
    loss = [0.1 * rng.normal(m, 1, 250) - 0.005 for m in (0.1, 0.0)]
    exact = [binned(v, edges) for v in loss]
    counted = [(v[:, None] >= np.linspace(-0.2, 0.2, 30)).sum(axis=0) for v in loss]
    narrow, wide = loss_band(*exact, edges, 1e-3), tradeoff_band(*counted, 250, 1e-3)
    width = [float((at(b.upper) - at(b.lower)).max()) for b in (narrow, wide)]
    assert width[0] < 0.12 < 0.3 < width[1]
    assert (at(narrow.lower) <= at(narrow.upper)).all()


def test_mean_limits_hold():
    rng, trials, alpha = np.random.default_rng(8), 150, 0.2
    values = np.array([[0.0, 0.1, 1.0]])
    mean = float(values[0] @ [0.7, 0.2, 0.1])
    above = [
        mean_lower(values, rng.multinomial(100, [0.7, 0.2, 0.1]).astype(float), alpha)[0] > mean
        for _ in range(trials)
    ]
    assert np.mean(above) <= alpha


def test_envelope_is_the_largest_line():
    rng = np.random.default_rng(9)
    for _ in range(50):
        slopes, starts = np.exp(rng.normal(size=9)), rng.uniform(0, 1, 9)
        x, y = _envelope(starts, slopes).T
        naive = np.maximum(0, (starts[:, None] - slopes[:, None] * RATES).max(axis=0))
        assert np.interp(RATES, x, y) == pytest.approx(naive, abs=1e-12)


def test_hull_is_below_its_points_and_convex():
    points = np.random.default_rng(10).uniform(size=(40, 2))
    hull = convex(points)
    assert (at(hull, points[:, 0]) <= points[:, 1] + 1e-12).all()
    slopes = np.diff([y for _, y in hull]) / np.diff([x for x, _ in hull])
    assert (np.diff(slopes) >= -1e-12).all()


@dpcheck.batched
def laplace_sum(data, size, rng):
    return np.sum(data) + rng.laplace(size=size)


def laplace_density(data, outputs):
    return -np.abs(np.asarray(outputs)[:, 0] - np.sum(data)) - math.log(2)


PAIRS = [Pair([0.0, 0.0], [0.0, 0.1], "near"), Pair([0.0, 0.0], [0.0, 1.0], "far")]


def gathered(density, event=None, runs=4000, seed=0, jobs=1):
    mechanism = Mechanism(laplace_sum, True, None, density)
    runner = Runner(seed=seed, workers=Workers(jobs=jobs))
    return gather(mechanism, PAIRS, event, epsilon=1.0, alpha=1e-3, runs=runs, runner=runner)


def test_exact_losses_of_the_pair_that_loses_most():
    seen = gathered(laplace_density)
    assert seen.exact
    assert seen.pair == "far"
    for counts, outside in ((seen.losses.first, 0), (seen.losses.second, 1)):
        assert sum(counts) + seen.losses.below[outside] + seen.losses.above[outside] == seen.runs
    # Half of D lies left of 0, where the loss of D = 0 against D' = 1 is 1; D' is its mirror image.
    top = np.searchsorted(seen.losses.edges, 1.0 - 1e-9) - 1
    assert seen.losses.first[top] / seen.runs == pytest.approx(0.5, abs=0.04)
    assert seen.losses.second[top] / seen.runs == pytest.approx(math.exp(-1) / 2, abs=0.03)
    assert at(seen.curve.estimate) == pytest.approx(laplace_tradeoff(1.0), abs=0.04)


def test_the_size_of_evidence_does_not_grow_with_runs():
    short, long = (gathered(laplace_density, runs=runs) for runs in (5000, 100_000))
    assert long.runs == 20 * short.runs
    assert len(long.losses.first) == len(short.losses.first)
    assert len(json.dumps(asdict(long))) < 16_000


def test_without_density_and_event_there_is_nothing_to_read():
    assert gathered(None) is None


def plan(pictures_seed=0, scale=1.0, density=None, claim=1.0):
    @dpcheck.batched
    def noisy(data, size, rng):
        return np.sum(data) + rng.laplace(scale=scale, size=size)

    stated = read_claim(claim, "zero-out", "a test")
    mechanism = Mechanism(noisy, True, None, density)
    return PartPlan("noisy", "as given", stated, mechanism, PAIRS[1:])


LIMITS = Limits(max_runs=40_000, trees=False)


def audited(the_plan, pictures):
    return audit_part(the_plan, LIMITS, Runner(seed=3, workers=Workers(jobs=1)), pictures=pictures)


def test_pictures_change_nothing_but_themselves():
    bare, drawn = audited(plan(scale=0.7), False), audited(plan(scale=0.7), True)
    assert bare.evidence is None
    assert replace(drawn, evidence=None) == bare
    assert drawn.verdict == "violated"


def test_estimated_losses_of_a_black_box_are_near_the_truth():
    seen = audited(plan(), True).evidence
    assert not seen.exact
    middles = 0.5 * (np.array(seen.losses.edges[1:]) + np.array(seen.losses.edges[:-1]))
    mean = float(middles @ seen.losses.first) / seen.runs
    # KL divergence of Laplace laws one scale apart: e^-1, in nats.
    assert mean == pytest.approx(math.exp(-1), abs=0.08)
    assert sum(seen.scores.first) + seen.scores.below[0] + seen.scores.above[0] == seen.runs
    # A score cannot do better than the likelihood ratio.
    assert (at(seen.curve.upper) >= laplace_tradeoff(1.0) - 1e-12).all()
    assert (at(seen.curve.lower) <= laplace_tradeoff(1.0) + 0.02).all()


def test_few_values_are_pooled_until_their_ratios_ascend():
    hits, other = _ascending(np.array([1.0, 4.0, 2.0, 9.0]), np.array([9.0, 6.0, 8.0, 1.0]))
    assert hits.tolist() == [1, 6, 6, 9]
    assert other.tolist() == [9, 14, 14, 1]


def test_the_error_budget_adds_up():
    for entry in (audited(plan(), False), audited(plan(density=laplace_density), False)):
        assert sum(line.share for line in entry.spending) == pytest.approx(LIMITS.alpha)
        assert any(line.test == "distinguisher" and line.over for line in entry.spending)


def test_claimed_curves():
    pure, _ = claimed_curve(read_claim(1.0, "zero-out", ""))
    assert at(pure) == pytest.approx(
        np.maximum(1 - math.e * RATES, np.maximum(0, (1 - RATES) / math.e)), abs=1e-12
    )
    loose, _ = claimed_curve(read_claim(dpcheck.Budget(1.0, 0.1), "zero-out", ""))
    naive = [max(0, 0.9 - math.e * a, (0.9 - a) / math.e) for a in RATES]
    assert at(loose) == pytest.approx(naive, abs=1e-12)
    event, method = claimed_curve(read_claim(dpcheck.Gaussian(2.0), "zero-out", ""))
    for rate, fnr in event[:-1]:
        assert fnr == pytest.approx(float(gaussian_tradeoff(0.5, np.array(rate))), abs=1e-9)
    assert "Gaussian" in method
    # Never above what the accountant proves for the same budget.
    certified = dpcheck.tradeoff(dpcheck.PureDP(1.0), 0.1, adjacency="zero-out")
    assert certified.lower <= float(at(pure, np.array(0.1))) + 1e-9


def test_a_report_is_json_with_everything_in_it():
    entry = audited(plan(), True)
    report = AuditReport(3, (entry,), 0.999, {"dpcheck": "0"}, command="dpcheck audit x")
    data = json.loads(json.dumps(report.to_dict(), allow_nan=False))
    assert data["command"] == "dpcheck audit x"
    assert data["versions"] == {"dpcheck": "0"}
    assert data["audits"][0]["evidence"]["curve"]["confidence"] == 1 - LIMITS.alpha
    shares = [line["share"] for line in data["audits"][0]["spending"]]
    assert sum(shares) == pytest.approx(LIMITS.alpha)
    assert data["audits"][0]["observed"]["allowed"] == 1.0


def test_the_command_repeats_the_request():
    request = AuditRequest(
        "my file.py:f",
        epsilon=0.5,
        delta=1e-6,
        confidence=0.99,
        max_runs=10,
        seed=4,
        tolerance=0.1,
        timeout=2.0,
        floating_point=True,
    )
    assert rerun_command(request) == (
        "dpcheck audit 'my file.py:f' --eps 0.5 --delta 1e-06 --confidence 0.99 --max-runs 10 "
        "--tolerance 0.1 --timeout 2.0 --floating-point --seed 4"
    )
    assert (
        "dpcheck.audit('my file.py:f', epsilon=0.5, delta=1e-06, confidence=0.99"
        in rerun_python(request, "data")
    )


TARGET = """
import dpcheck
import numpy as np


@dpcheck.audited(claim=1.0, adjacency="zero-out", neighbours=[([0.0, 0.0], [0.0, 1.0])])
@dpcheck.batched
def leaky(data, size, rng):
    # A Laplace of scale 0.4 as a difference that replay does not follow, so that runs convict.
    noise = rng.standard_gamma(1.0, size) - rng.standard_gamma(1.0, size)
    return np.sum(data) + 0.4 * noise
"""


def test_a_witness_of_runs_comes_with_python_that_repeats_it(tmp_path, capsys, monkeypatch):
    (tmp_path / "leaky.py").write_text(TARGET)
    request = AuditRequest(f"{tmp_path / 'leaky.py'}:leaky", max_runs=20_000, workers=Workers(1))
    witness = run_request(request).entries[0].witness
    assert witness["confirmed_likelier"] > 2.8 * witness["confirmed_other"]
    assert witness["p_value"] < 1e-3
    monkeypatch.setattr(sys, "argv", ["witness.py"])
    with pytest.raises(SystemExit) as ended:
        exec(witness["python"], {})
    assert ended.value.code == 1  # shown again
    printed = capsys.readouterr().out
    found = re.search(
        r"(\d+) calls: in the event (\d+) times .* dataset, (\d+) on the other", printed
    )
    calls, likelier, other = map(int, found.groups())
    assert f"event: {witness['rule']}\n" in printed
    assert calls == witness["confirmed_calls"]
    # Fresh calls: under epsilon 1 a call in the event is on the likelier side with probability 0.731.
    assert binom.sf(likelier - 1, likelier + other, 1 / (1 + math.exp(-1))) < 1e-3
    assert printed.endswith("violated\n")


def test_a_violation_that_replay_proves_is_drawn_on_its_pair(tmp_path):
    """No event was learned for the verdict; the picture learns one and claims no test of it."""
    (tmp_path / "mine.py").write_text(
        "import dpcheck\n"
        "@dpcheck.audited(claim=1.0, adjacency='replace-one', neighbours=[(0.0, 0.1), (0.0, 1.0)])\n"
        "def leaky(data, rng):\n"
        "    return {'total': data + rng.laplace(scale=0.3)}\n"
    )
    request = AuditRequest(f"{tmp_path / 'mine.py'}:leaky", pictures=True, workers=Workers(jobs=1))
    (entry,) = run_request(request).entries
    assert entry.observed.method == "replay"
    assert entry.evidence.pair == entry.witness["pair"]
    assert entry.evidence.threshold is None
    assert sum(entry.evidence.losses.first) > 0
