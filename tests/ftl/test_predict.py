"""`dpcheck ftl predict`: rows of B that were not there in training, labelled by two real processes."""

import csv
import subprocess
import sys

import numpy as np
import pytest
from test_cli import call
from two_parties import free_port

RUN = [sys.executable, "-c", "from dpcheck.cli.main import run; run()", "ftl"]
AGREED = ["--hidden", "3", "--iterations", "3", "--rate", "0.5"]


def both(of_b, of_a):
    """The two commands at once; what A printed."""
    b = subprocess.Popen([*RUN, *map(str, of_b)], stderr=subprocess.PIPE, text=True)
    try:
        a = subprocess.run([*RUN, *map(str, of_a)], capture_output=True, text=True, timeout=300)
        assert a.returncode == 0, a.stderr
        assert b.wait(timeout=60) == 0, b.stderr.read()
    finally:
        b.kill()
        b.stderr.close()
    return a.stdout


def rows(path):
    with path.open() as file:
        return list(csv.reader(file))


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    place = tmp_path_factory.mktemp("ftl")
    for words in (
        ["example", place, "--rows", "16", "--common", "8"],
        ["certificates", place / "keys"],
    ):
        subprocess.run([*RUN, *map(str, words)], check=True, capture_output=True)
    port = free_port()
    sides = {
        party: [
            "--party", party, "--data", place / f"{party}.csv", "--common", place / "common.txt",
            "--certificates", place / "keys" / party, "--out", place / f"{party}.npz", *AGREED,
        ]
        for party in "ab"
    }  # fmt: skip
    both(
        ["serve", *sides["b"], "--listen", f"127.0.0.1:{port}", "--labels", place / "first.csv"],
        ["train", *sides["a"], "--connect", f"127.0.0.1:{port}", "--scores", place / "scores.csv"],
    )
    return place


def predict(place, data):
    port = free_port()
    b = ["predict", "--party", "b", "--network", place / "b.npz", "--data", data, "--listen"]
    a = ["predict", "--party", "a", "--network", place / "a.npz", "--connect", f"127.0.0.1:{port}"]
    return both(
        [
            *b,
            f"127.0.0.1:{port}",
            "--certificates",
            place / "keys/b",
            "--labels",
            place / "new.csv",
        ],
        [*a, "--certificates", place / "keys/a", "--scores", place / "new_scores.csv"],
    )


def test_rows_of_the_training_get_the_labels_and_scores_they_had(trained):
    """In another order and fewer of them: scaled as in training, not by themselves."""
    head, *body = rows(trained / "b.csv")
    chosen = body[::-3]
    with (trained / "some.csv").open("w", newline="") as file:
        csv.writer(file).writerows([head, *chosen])
    said = predict(trained, trained / "some.csv")
    assert f"labels of its {len(chosen)} rows" in said
    before, after = dict(rows(trained / "first.csv")), dict(rows(trained / "new.csv"))
    assert list(after) == ["id", *(row[0] for row in chosen)]
    assert all(before[name] == label for name, label in after.items())
    # A counts rows of the training from the common ones on.
    common = (trained / "common.txt").read_text().split()
    order = [*common, *(row[0] for row in body if row[0] not in common)]
    first = dict(zip(order, (float(v) for _, v in rows(trained / "scores.csv")[1:]), strict=True))
    found = [float(v) for _, v in rows(trained / "new_scores.csv")[1:]]
    assert found == pytest.approx([first[row[0]] for row in chosen], rel=1e-6, abs=1e-9)


def test_the_saved_network_predicts_what_numpy_does(trained):
    a, b = np.load(trained / "a.npz"), np.load(trained / "b.npz")
    X = np.array([row[1:] for row in rows(trained / "b.csv")[1:]], dtype=float)
    hidden = 1 / (1 + np.exp(-(((X - b["center"]) / b["spread"]) @ b["weights0"] + b["bias0"])))
    scores = hidden @ a["translator"]
    labels = dict(rows(trained / "first.csv"))
    for row, score in zip(rows(trained / "b.csv")[1:], scores, strict=True):
        assert int(labels[row[0]]) == (1 if score >= 0 else -1)


def test_what_is_missing_is_named(trained, capsys, monkeypatch):
    def said(*words):
        code, _, err = call(capsys, monkeypatch, "ftl", "predict", *words)
        assert code == 2
        return " ".join(err.split())

    keys = ("--certificates", trained / "keys/b")
    assert "--data FILE" in said("--party", "b", "--network", trained / "b.npz", *keys)
    wrong = (
        "--party",
        "b",
        "--network",
        trained / "b.npz",
        "--data",
        trained / "common.txt",
        *keys,
    )
    assert "common.txt" in said(*wrong)
    mixed = ("--party", "a", "--network", trained / "b.npz", *keys)
    assert "translator" in said(*mixed)
    no_file = ("--party", "a", "--network", trained / "common.txt", *keys)
    assert "was not written by --out" in said(*no_file)
    assert "belong to party B" in said(
        "--party", "a", "--network", trained / "a.npz", "--data", trained / "b.csv", *keys
    )
