"""The commands as a newcomer runs them."""

import json
import sys
from dataclasses import dataclass

import pytest

import dpcheck as package
from dpcheck.cli.accounting.events import KINDS
from dpcheck.cli.main import run
from dpcheck.core.events import event as composed


@dataclass
class Shown:
    returncode: int
    stdout: str
    stderr: str


@pytest.fixture
def dpcheck(monkeypatch, capsys):
    """The command as its entry point runs it, in this process."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["dpcheck", *arguments])
        with pytest.raises(SystemExit) as ended:
            run()
        shown = capsys.readouterr()
        return Shown(int(ended.value.code or 0), shown.out, shown.err)

    return call


ACCOUNT = ("account", "sampled-gaussian", "--noise", "6", "--rate", "32/539", "--epochs", "353")


def test_account_lists_every_method_and_stands_behind_one(dpcheck):
    shown = dpcheck(*ACCOUNT, "--delta", "1e-5")
    assert shown.returncode == 0, shown.stderr
    lines = {line.strip()[:28].strip(): line for line in shown.stdout.splitlines()}
    assert float(lines["RDP classic"].split()[2]) == pytest.approx(4.00, abs=0.005)
    for label in ("theorem 1 (closed form)", "RDP improved", "RDP optimal"):
        assert label in lines
    assert shown.stdout.count("stands behind") == 1
    assert "adjacency add-remove" in shown.stdout


def test_account_json(dpcheck):
    answer = json.loads(dpcheck(*ACCOUNT, "--delta", "1e-5", "--format", "json").stdout)
    assert answer["schema"] == "dpcheck.account/1"
    methods = {row["method"]: row["epsilon"] for row in answer["methods"]}
    assert methods["rdp-classic"] == pytest.approx(4.00, abs=0.005)
    assert methods["theorem-1"] > methods["rdp-classic"] > methods["rdp-improved"]
    assert answer["epsilon"]["upper"] <= methods["rdp-optimal"]
    assert answer["event"]["times"] == 5946


def test_theorem_row_says_which_condition_fails(dpcheck):
    shown = dpcheck(
        "account", "sampled-gaussian", "--noise", "1", "--rate", "0.01", "--delta", "1e-5"
    )
    assert "needs sigma >= 4" in shown.stdout
    assert shown.returncode == 0


def test_an_event_file_is_accounted(dpcheck, tmp_path):
    path = tmp_path / "event.json"
    path.write_text('{"kind": "Repeated", "event": {"kind": "PureDP", "epsilon": 0.5}, "times": 3}')
    assert "between 1.5 and 1.5" in dpcheck("account", str(path)).stdout


def test_what_has_no_distribution_says_which_bound_still_holds(dpcheck):
    shown = dpcheck("account", "zcdp", "--set", "rho=0.1", "--delta", "1e-5")
    assert shown.returncode == 0
    row = next(line for line in shown.stdout.splitlines() if "privacy-loss distribution" in line)
    assert "inf" in row
    assert "Renyi bound" in row
    assert "RDP optimal" in shown.stdout


def test_the_answer_is_verified_by_balls(dpcheck):
    few = ("account", "sampled-gaussian", "--noise", "1", "--rate", "0.1", "--steps", "4")
    shown = dpcheck(*few, "--delta", "1e-4", "--verify")
    assert shown.returncode == 0, shown.stderr
    assert "verified in ball arithmetic" in shown.stderr
    refused = dpcheck("account", "zcdp", "--set", "rho=0.1", "--delta", "1e-5", "--verify")
    assert refused.returncode == 2
    assert "DPC202" in refused.stderr


def test_the_curve_is_drawn(dpcheck, tmp_path):
    path = tmp_path / "curve.svg"
    shown = dpcheck("account", "gaussian", "--noise", "2", "--delta", "1e-5", "--plot", str(path))
    assert shown.returncode == 0, shown.stderr
    assert str(path) in shown.stderr
    text = path.read_text()
    assert text.lstrip().startswith("<?xml")
    assert "proved upper bound" in text or "<path" in text
    wrong = dpcheck("account", "gaussian", "--noise", "2", "--delta", "1e-5", "--plot", "curve.doc")
    assert wrong.returncode == 2
    assert ".svg" in wrong.stderr


def test_calibrate_inverts_account(dpcheck):
    noise = json.loads(
        dpcheck(
            "calibrate",
            "noise",
            "sampled-gaussian",
            "--rate",
            "0.01",
            "--steps",
            "1000",
            "--budget",
            "2",
            "--delta",
            "1e-5",
            "--format",
            "json",
        ).stdout
    )
    assert noise["spent"]["epsilon"] <= 2
    back = json.loads(
        dpcheck(
            "account",
            "sampled-gaussian",
            "--noise",
            repr(noise["value"]),
            "--rate",
            "0.01",
            "--steps",
            "1000",
            "--delta",
            "1e-5",
            "--format",
            "json",
        ).stdout
    )
    assert back["epsilon"]["upper"] == noise["spent"]["epsilon"]
    assert back["epsilon"]["upper"] == pytest.approx(2, rel=1e-4)


def test_calibrate_steps_and_epochs(dpcheck):
    common = (
        "--noise",
        "6",
        "--rate",
        "32/539",
        "--budget",
        "4",
        "--delta",
        "1e-5",
        "--method",
        "rdp-classic",
    )
    epochs = dpcheck("calibrate", "epochs", "sampled-gaussian", *common)
    assert epochs.stdout.startswith("353 epochs (5,946 steps)"), epochs.stdout + epochs.stderr
    steps = dpcheck("calibrate", "steps", "sampled-gaussian", *common)
    assert int(steps.stdout.split()[0].replace(",", "")) >= 5946


def test_calibrate_objective_perturbation(dpcheck):
    shown = dpcheck(
        "calibrate",
        "noise",
        "objective-perturbation",
        "--rows",
        "100",
        "--set",
        "regularization=0.001",
        "--budget",
        "1",
        "--format",
        "json",
    )
    answer = json.loads(shown.stdout)
    assert answer["spent"]["epsilon"] <= 1
    assert answer["event"]["noise_epsilon"] == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("account", "gaussian", "--noise", "-1"), "DPC101", "above 0"),
        (("account", "gaussian", "--noise", "nan"), "DPC101", "finite"),
        (("account", "gaussian", "--noise", "x"), "DPC501", "not a number"),
        (("account", "gaussian", "--noise", "1", "--delta", "1.5"), "DPC101", "delta"),
        (("account", "sampled-gaussian", "--noise", "1", "--rate", "-1"), "DPC101", "[0, 1]"),
        (("account", "sampled-gaussian", "--noise", "1", "--rate", "1.5"), "DPC101", "[0, 1]"),
        (("account", "gaussian", "--noise", "1", "--accuracy", "0"), "DPC101", "accuracy"),
        (("account", "sampled-gaussian", "--noise", "1", "--rate", "1/0"), "DPC501", "32/539"),
        (("account", "gausian", "--noise", "1"), "DPC102", "did you mean 'gaussian'"),
        (("account", "gaussian", "--noise", "1", "--adjacency", "swap"), "DPC102", "replace-one"),
        (("account", "gaussian"), "DPC501", "--noise"),
        (("account", "gaussian", "--noise", "1", "--rate", "0.1"), "DPC501", "no --rate"),
        (("account", "gaussian", "--noise", "1", "--epochs", "3"), "DPC501", "sampled"),
        (("account", "gaussian", "--noise", "1", "--steps", "0"), "DPC101", "at least 1"),
        (
            (
                "account",
                "fixed-batch-gaussian",
                "--noise",
                "1",
                "--rows",
                "9",
                "--batch",
                "2",
                "--adjacency",
                "add-remove",
            ),
            "DPC104",
            "replace-one",
        ),
        (("account", "missing.json"), "DPC103", "cannot read"),
        (("account",), "DPC501", "--help"),
        (("acount",), "DPC501", "Did you mean 'account'"),
        (("account", "gaussian", "--nose", "1"), "DPC501", "--noise"),
        (("calibrate", "noise", "gaussian", "--budget", "1"), "DPC203", "delta above 0"),
        (("calibrate", "noise", "pure-dp", "--budget", "1"), "DPC501", "no noise"),
        (
            ("calibrate", "steps", "gaussian", "--noise", "1", "--budget", "0", "--steps", "3"),
            "DPC501",
            "leave out",
        ),
        (("reproduce", "dpda-epoch"), "DPC102", "dpda-epochs"),
        (("reproduce", "dpda-epochs", "--data-dir", "nowhere"), "DPC501", "not a folder"),
    ],
)
def test_bad_input_is_one_line_with_a_code_and_exit_2(dpcheck, arguments, code, words):
    shown = dpcheck(*arguments)
    assert shown.returncode == 2
    assert shown.stdout == ""
    assert shown.stderr.startswith(f"error: {code} ")
    assert words in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_help_is_quick_to_find(dpcheck):
    shown = dpcheck("--help")
    assert shown.returncode == 0
    for command in ("account", "calibrate", "reproduce"):
        assert command in shown.stdout
        assert dpcheck(command, "--help").returncode == 0


def test_an_explanation_holds_a_claim_against_the_bounds_and_draws_it(dpcheck, tmp_path):
    figure = tmp_path / "why.svg"
    shown = dpcheck(
        *ACCOUNT, "--delta", "1e-5", "--explain", "--claim", "3.0", "--plot", str(figure)
    )
    assert shown.returncode == 0, shown.stderr
    assert "what each accountant would have said" in shown.stdout
    assert "sampling rate" in shown.stdout
    assert "the claim epsilon 3 does not hold" in shown.stdout
    drawn = figure.read_text()
    assert "<svg" in drawn
    assert len(drawn) > 10_000
    told = json.loads(
        dpcheck(*ACCOUNT, "--delta", "1e-5", "--explain", "--claim", "4", "--format", "json").stdout
    )
    assert told["claim"] == {"epsilon": 4.0, "verdict": "holds"}
    assert told["explanation"]["moves"]["noise"]["2"] < told["epsilon"]["lower"]


@pytest.mark.parametrize(
    ("arguments", "epsilon"),
    [
        (("permute-and-flip", "--eps", "1"), "1"),
        # [Lyu2017]: 1/4 for the threshold and 1/8 for each of three positive answers.
        (
            (
                "above-threshold",
                "--set",
                "threshold_noise=4",
                "--set",
                "query_noise=8",
                "--set",
                "positives=3",
                "--set",
                "monotone=true",
            ),
            "0.625",
        ),
        (("report-noisy-max", "--noise", "2", "--set", "monotone=true"), "0.5"),
        (("shuffled-reports", "--eps", "1", "--set", "people=1"), "1"),
        # One column moves by sqrt(1 + 1/4), and one participation: a Gaussian of noise 2/sqrt(1.25).
        (
            ("matrix-mechanism", "--noise", "2", "--set", "strategy=1,0;0.5,1", "--delta", "1e-5"),
            "2.25815",
        ),
    ],
)
def test_selection_and_matrices_from_the_shell(dpcheck, arguments, epsilon):
    shown = dpcheck("account", *arguments)
    assert shown.returncode == 0, shown.stderr
    assert f"and {epsilon}." in shown.stdout


def test_a_truth_value_is_true_or_false(dpcheck):
    shown = dpcheck("account", "report-noisy-max", "--noise", "2", "--set", "monotone=maybe")
    assert shown.returncode == 2
    assert "monotone must be true or false" in shown.stderr


def test_every_step_has_a_name_in_the_shell():
    """All events but those made of others, which a JSON file describes."""
    made_of_others = {kind.__name__ for kind in vars(composed).values() if isinstance(kind, type)}
    kinds = {
        name
        for name, value in ((name, getattr(package, name)) for name in dir(package))
        if isinstance(value, type)
        and issubclass(value, package.Event)
        and value is not package.Event
    }
    assert kinds - {kind.__name__ for kind in KINDS.values()} <= made_of_others


@pytest.mark.parametrize("claim", ["nan", "-1", "inf"])
def test_a_claim_that_is_no_epsilon_is_refused(dpcheck, claim):
    # nan was said to lie between the bounds.
    shown = dpcheck("account", "gaussian", "--noise", "1", "--delta", "1e-5", "--claim", claim)
    assert shown.returncode == 2
    assert "claim must" in shown.stderr


def test_an_accuracy_from_the_shell(dpcheck):
    arguments = ("--noise", "1", "--rate", "0.01", "--steps", "1000", "--delta", "1e-5")
    shown = dpcheck("account", "sampled-gaussian", *arguments, "--accuracy", "1e-6")
    low, high = (
        float(word.rstrip(".")) for word in shown.stdout.split("between ")[1].split()[:3:2]
    )
    assert 0 < high - low <= 1.1e-6 * high
    assert f"{high:.6g}  <- dpcheck stands behind this one" in shown.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ("sampled-gaussian", "--noise", "1", "--rate", "0", "--delta", "1e-5"),
            "between 0 and 0.",
        ),
        (("sampled-gaussian", "--noise", "0", "--rate", "1", "--delta", "1e-5"), "inf and inf."),
        (("gaussian", "--noise", "1", "--delta", "1"), "between 0 and 0."),
    ],
)
def test_ends_of_the_range_from_the_shell(dpcheck, arguments, words):
    shown = dpcheck("account", *arguments)
    assert shown.returncode == 0, shown.stderr
    assert words in shown.stdout
