"""The HTML report: self-contained, escaped, accessible, the same every time."""

import math
import re
import subprocess
import sys
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from dpcheck.core.adjacency import Adjacency
from dpcheck.core.audit_result import AuditEntry, AuditReport, BudgetEntry, Observed, Proved
from dpcheck.core.budget import Budget
from dpcheck.core.claim import Claim
from dpcheck.core.evidence import Histogram, RunEvidence, Spent, TradeoffBand
from dpcheck.core.verdict import Verdict
from dpcheck.core.witness import Witness, WitnessKind
from dpcheck.report import html, palette
from dpcheck.report.drawing import INK

EVIL = '<img src=x onerror="alert(1)">&\'"{{ 7*7 }}$x_1$</script>'
HISTOGRAM = Histogram("exact privacy loss", (-1.25, -0.5, 0.5, 1.25), (1, 5, 4), (4, 5, 1))
BAND = TradeoffBand(
    ((0.0, 1.0), (0.3, 0.3), (1.0, 0.0)),
    ((0.0, 0.9), (0.25, 0.25), (1.0, 0.0)),
    ((0.0, 1.0), (0.35, 0.35), (1.0, 0.0)),
    0.9995,
    "by hand",
    3,
)
SEEN = RunEvidence(
    "pair 0",
    False,
    "value 0",
    False,
    10,
    5,
    HISTOGRAM,
    BAND,
    HISTOGRAM,
    0.5,
    ((0.0, 1.0), (0.27, 0.27), (1.0, 0.0)),
    "f",
)
SPENDING = (Spent("distinguisher", 4e-4, ("value 0 >= 1",), "averaged"), Spent("not spent", 6e-4))


def entry(verdict=Verdict.HOLDS, name="laplace", **changes):
    made = AuditEntry(
        name=name,
        variant="as given",
        part="data",
        claim=Claim(Budget(1.0), Adjacency.ZERO_OUT, "declared by a test"),
        proved=Proved(0.99, 0.0, "pure", ("public n",)),
        observed=Observed(0.87, 0.0, 0.999, "distinguisher", 1000, 1.1, 500, 1.0),
        verdict=verdict,
        conformance="noise-scale test passed",
        spending=SPENDING,
        evidence=SEEN,
    )
    return replace(made, **changes)


def report(*entries, **changes):
    made = AuditReport(
        7, entries or (entry(),), 0.999, {"dpcheck": "0.1.0"}, command="dpcheck audit x --seed 7"
    )
    return replace(made, **changes)


class Reader(HTMLParser):
    """What a test needs of a page; complains of tags that do not match."""

    EMPTY = frozenset(("meta", "link", "br", "img", "input", "hr"))

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.open, self.texts = [], [], []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in self.EMPTY:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag in self.EMPTY:
            return
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag, tag

    def handle_data(self, data):
        self.texts.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


@pytest.fixture(scope="module")
def page():
    violated = entry(
        Verdict.VIOLATED,
        evidence=replace(SEEN, exact=True, scores=None),
        witness=Witness(WitnessKind.EXACT_WITNESS, {"loss": 1.2, "python": "print(1 < 2)\n"}),
    )
    return Reader(html.render(report(entry(), violated)))


def test_verdict_comes_first(page):
    assert page.texts.index(" violated") < page.texts.index("Claim, proof, observation")
    assert (
        "The claim allows epsilon 1, and an attack on the code proves at least 0.87." in page.text
    )


def test_everything_the_issue_asks_for_is_there(page):
    for text in (
        "Exact privacy loss of data",
        "Trade-off curve of data",
        "declared by a test",
        "≤ 0.99",
        "≥ 0.87",
        "print(1 < 2)",
        "The witness as data",
        "How the error rate was spent",
        "0.0004",
        "dpcheck audit x --seed 7",
        "seed 7",
        "dpcheck 0.1.0",
        "public n",
    ):
        assert text in page.text, text


def test_nothing_is_fetched(page):
    text = html.render(report())
    assert not re.findall(r"@import|url\((?!#)", text)
    links = [
        value
        for _, attrs in page.tags
        for name, value in attrs.items()
        if name in ("src", "href", "xlink:href", "action")
    ]
    assert links
    assert all(link.startswith(("#", "data:")) for link in links), links
    addresses = set(re.findall(r"https?://[^\s\"'<>]+", text))
    assert addresses == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    (policy,) = [a["content"] for a in page.all("meta") if "http-equiv" in a]
    assert policy.startswith("default-src 'none'")


def test_hostile_names_are_text():
    bad = entry(
        Verdict.VIOLATED,
        name=EVIL,
        variant=EVIL,
        part=EVIL,
        notes=(EVIL,),
        conformance=EVIL,
        claim=Claim(Budget(1.0), Adjacency.ZERO_OUT, EVIL),
        accepted=EVIL,
        proved=Proved(2.0, 0.0, EVIL, (EVIL,)),
        observed=Observed(1.5, 0.0, 0.999, EVIL, 10, 1.1),
        witness=Witness(
            WitnessKind.EVENT, {EVIL: EVIL, "python": EVIL, "nested": {EVIL: [EVIL] * 20}}
        ),
        spending=(Spent(EVIL, 1e-3, (EVIL,), EVIL),),
        evidence=replace(
            SEEN,
            pair=EVIL,
            score=EVIL,
            losses=replace(HISTOGRAM, quantity=EVIL),
            curve=replace(BAND, method=EVIL),
            claimed_method=EVIL,
        ),
    )
    spent = BudgetEntry(EVIL, Budget(1.0), Adjacency.ZERO_OUT, 0.5, 2.0, EVIL, (EVIL,))
    text = html.render(
        report(bad, versions={EVIL: EVIL}, command=EVIL, budgets=(spent,), complaints=(EVIL,))
    )
    page = Reader(text)
    assert "<img" not in text
    assert not page.all("img")
    assert len(page.all("script")) == 1
    assert "49" not in page.text.split("Baseline")[0]  # no template is run on data
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert page.text.count("onerror=") > 15


def test_ids_are_unique_and_labels_point_somewhere(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    for _, attrs in page.tags:
        for name in ("aria-labelledby", "data-copy"):
            assert set(attrs.get(name, "").split()) <= set(ids)
        for name in ("href", "xlink:href"):
            if attrs.get(name, "").startswith("#"):
                assert attrs[name][1:] in ids


def test_landmarks_headings_tables_and_pictures_are_announced(page):
    assert page.all("html") == [{"lang": "en"}]
    for tag in ("header", "main", "nav", "footer", "h1"):
        assert len(page.all(tag)) == 1, tag
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h[1-6]", tag)]
    assert all(b - a <= 1 for a, b in pairwise(levels))
    assert all(attrs.get("scope") in ("row", "col") for attrs in page.all("th"))
    pictures = page.all("svg")
    assert len(pictures) == 6
    assert all(p["role"] == "img" and p["aria-labelledby"] for p in pictures)
    assert len(page.all("title")) == 1 + len(pictures) == 1 + len(page.all("desc"))
    assert all(attrs["tabindex"] == "0" and attrs["aria-label"] for attrs in page.all("pre"))
    assert all(attrs["aria-label"] for attrs in page.all("button"))


def test_alternative_texts_hold_the_numbers():
    text = html.render(report())
    overview, losses, curve = re.findall(r"<desc[^>]*>([^<]*)</desc>", text)[:3]
    assert "claimed 1, proved at most 0.99, observed at least 0.87" in overview
    assert "0 on D, 0 on D'" in losses
    assert "stays above" in curve
    below = replace(BAND, upper=((0.0, 1.0), (0.1, 0.1), (1.0, 0.0)))
    text = html.render(report(entry(evidence=replace(SEEN, curve=below))))
    assert "goes below" in text


@pytest.mark.parametrize("theme", [palette.LIGHT, palette.DARK], ids=["light", "dark"])
def test_contrast(theme):
    """WCAG 2.2 AA: 4.5 for text, 3 for marks of figures and controls, on every background used."""
    words = ("text", "muted", "link", "claim", "proved", "observed", *map(str, Verdict))
    for name in words:
        for ground in ("page", "card"):
            assert palette.contrast(theme[name], theme[ground]) >= 4.5, (name, ground)
    assert palette.contrast(theme["text"], theme["code"]) >= 4.5
    for name in ("first", "second", "claim", "muted"):
        assert palette.contrast(theme[name], theme["card"]) >= 3.0, name


def test_contrast_is_measured_as_wcag_does():
    assert palette.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert palette.contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


def test_every_colour_of_a_figure_follows_the_theme():
    text = html.render(report())
    figures = "".join(re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL))
    assert not re.findall(r"#[0-9a-f]{6}\b", figures)
    assert set(re.findall(r"var\(--(\w+)\)", text)) <= set(palette.LIGHT) | {"mark"}
    assert palette.LIGHT.keys() == palette.DARK.keys() == INK.keys()
    assert "prefers-color-scheme: dark" in text


def test_the_same_report_gives_the_same_bytes_in_any_process():
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import hashlib, test_html_report as t;"
        "print(hashlib.sha256(t.html.render(t.report()).encode()).hexdigest())"
    )
    folder = __file__.rpartition("/")[0]
    runs = [
        subprocess.run(
            [sys.executable, "-c", code, folder],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed, "MPLCONFIGDIR": "/nonexistent"},
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout


def test_infinities_and_nothing_at_all_are_drawn():
    lost = Observed(math.inf, 0.0, 1.0, "exact loss of an output", 5, math.inf)
    unproved = entry(Verdict.VIOLATED, observed=lost, proved=None, evidence=None, spending=())
    page = Reader(html.render(report(unproved)))
    assert "at least inf" in page.text
    assert "nothing was sampled" in page.text
    decided = replace(unproved, observed=replace(lost, runs=0))
    assert "without runs" in Reader(html.render(report(decided))).text
    nothing = replace(
        SEEN, losses=replace(HISTOGRAM, first=(0, 0, 0), second=(0, 0, 0)), claimed=()
    )
    assert Reader(html.render(report(entry(evidence=nothing)))).all("svg")


def test_a_curve_is_compared_at_the_delta_that_was_tested():
    seen = Observed(0.3, 0.04, 0.999, "distinguisher", 10, 0.25, 5, 0.2)
    curve = entry(
        Verdict.VIOLATED,
        observed=seen,
        proved=None,
        claim=Claim(Budget(1.0, 1e-5), Adjacency.ZERO_OUT, "a curve"),
    )
    text = html.render(report(curve))
    assert (
        "At delta 0.04 the claim allows epsilon 0.2, and an attack on the code proves at least 0.3."
        in text
    )
    assert "claimed 0.2, proved nothing, observed at least 0.3" in text


def test_budgets_and_baseline():
    spent = BudgetEntry(
        "patients", Budget(1.0), Adjacency.REPLACE_ONE, 0.5, 2.0, "pure", ("a", "b")
    )
    text = Reader(html.render(report(budgets=(spent,), complaints=("entry 3 expired",)))).text
    assert "Budget of patients: overspent." in text
    assert "entry 3 expired" in text
    assert "undecided" in text


def test_many_parts_and_audits():
    entries = [entry(verdict, name=f"m{i}") for i, verdict in enumerate(list(Verdict) * 3)]
    page = Reader(html.render(report(*entries)))
    assert len([a for a in page.all("a") if a["href"].startswith("#part-")]) == 12
    assert "12 audits: ✗ violated" in page.text
    assert "m2 data: The claim allows epsilon 1" in page.text
    assert "The same verdict for" not in page.text


def test_long_witnesses_are_shortened():
    long = entry(
        Verdict.VIOLATED, witness=Witness(WitnessKind.EVENT, {"rows": list(range(20_000))})
    )
    assert "… shortened" in html.render(report(long))


def test_matplotlib_and_jinja_are_loaded_only_when_asked_for():
    code = "import sys, dpcheck.report.html; print([m for m in ('matplotlib', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


TARGET = """
import dpcheck


@dpcheck.audited(claim=1.0, adjacency="zero-out", neighbours=[([0.0], [1.0])])
@dpcheck.batched
def noisy(data, size, rng):
    return data[0] + rng.laplace(size=size)
"""


def test_from_the_command_line(tmp_path):
    (tmp_path / "mine.py").write_text(TARGET)
    arguments = ["audit", "mine.py:noisy", "--max-runs", "20000", "--jobs", "1"]
    code = "from dpcheck.cli.main import run; run()"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments, "--report", "html=out/r.html"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    page = Reader((tmp_path / "out" / "r.html").read_text(encoding="utf-8"))
    assert len(page.all("svg")) == 4
    for text in (
        "noisy: ≈ consistent",
        "Estimated privacy loss of data",
        "distinguisher 0.000713",  # 0.001 * 0.95 * 0.75: replay may test an event, the game plays
        "dpcheck audit mine.py:noisy --max-runs 20000 --seed 0",
    ):
        assert text in page.text, text
