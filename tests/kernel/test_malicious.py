"""Certificates written to deceive the kernel: each is refused in words, and none is an error."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from dpcheck.verify import answer
from dpcheck.verify.program.check import digest

from .test_certificates import certificate, node, step

INF, NAN = "inf", float("nan")
NODE = {i: ("program", "nodes", i) for i in range(4)}

# Where, and what stands there instead.
EDITS: dict[str, list[tuple[Any, ...]]] = {
    "two nodes of one name": [(*NODE[3], "id", 2)],
    "a node that names itself": [(*NODE[1], "args", [1])],
    "a node from the future": [(*NODE[1], "args", [3])],
    "a name below zero": [(*NODE[3], "id", -3)],
    "a name that is a truth value": [(*NODE[1], "id", True)],
    "operands by truth values": [(*NODE[3], "args", [True, 2])],
    "operands by text": [(*NODE[3], "args", ["1", "2"])],
    "operands by floats": [(*NODE[3], "args", [1.0, 2.0])],
    "operands that are no list": [(*NODE[3], "args", {"1": 2})],
    "three operands": [(*NODE[3], "args", [1, 2, 2])],
    "the noise twice": [(*NODE[3], "args", [2, 2])],
    "no operands": [(*NODE[1], "args", [])],
    "a scale of nan": [(*NODE[2], "params", "scale", NAN)],
    "an infinite scale": [(*NODE[2], "params", "scale", INF)],
    "a scale below zero": [(*NODE[2], "params", "scale", -2)],
    "a scale of zero": [(*NODE[2], "params", "scale", 0)],
    "a scale of text": [(*NODE[2], "params", "scale", "2")],
    "a scale that is a truth value": [(*NODE[2], "params", "scale", True)],
    "several scales": [(*NODE[2], "params", "scale", [2, 200])],
    "no scales": [(*NODE[2], "params", "scale", [])],
    "an infinite place of the noise": [(*NODE[2], "params", "location", INF)],
    "a law of no noise": [(*NODE[2], "params", "law", None)],
    "a law in a list": [(*NODE[2], "params", "law", ["laplace"])],
    "noise of many numbers for one": [(*NODE[2], "shape", [5])],
    "noise of no numbers": [(*NODE[2], "shape", [0])],
    "a length below zero": [(*NODE[2], "shape", [-1])],
    "a length of text": [(*NODE[2], "shape", ["5"])],
    "a length of a billion billions": [(*NODE[3], "shape", [10**18])],
    "a shape that is a number": [(*NODE[3], "shape", 5)],
    "rows of an unknown node": [(*NODE[0], "shape", [{"rows": 7}])],
    "rows of a list": [(*NODE[0], "shape", [{"rows": [-1]}])],
    "data in two orders": [(*NODE[0], "params", "low", 2)],
    "data without an end": [(*NODE[0], "params", "high", INF)],
    "data that end at nan": [(*NODE[0], "params", "high", NAN)],
    "data of a type": [(*NODE[0], "dtype", ["float64"])],
    "data of bytes": [(*NODE[0], "dtype", "uint8"), (*NODE[0], "params", "high", 300)],
    "more rows": [("program", "rows", -10)],
    "rows that are a truth value": [("program", "rows", True)],
    "rows as text": [("program", "rows", "10")],
    "private rows that are public": [
        ("program", "adjacency", "add-remove"),
        ("claim", "adjacency", "add-remove"),
    ],
    "an adjacency of its own": [("program", "adjacency", "none"), ("claim", "adjacency", "none")],
    "an axis that is not there": [(*NODE[1], "params", "axes", [1])],
    "an axis twice": [(*NODE[1], "params", "axes", [0, 0])],
    "an axis from the end": [(*NODE[1], "params", "axes", [-1])],
    "an axis that is a truth value": [(*NODE[1], "params", "axes", [False])],
    "a sign that is text": [(*NODE[3], "params", "sign", "1")],
    "no outputs but a private one": [("program", "outputs", [1])],
    "outputs by truth values": [("program", "outputs", [True])],
    "outputs that are no list": [("program", "outputs", "3")],
    "outputs nobody knows": [("program", "outputs", [30])],
    "a release that counts no times": [("releases", 0, "times", 0)],
    "a release that counts minus one": [("releases", 0, "times", -1)],
    "a release that counts half": [("releases", 0, "times", 0.5)],
    "a release that counts truly": [("releases", 0, "times", True)],
    "a release of a private value": [("releases", 0, "node", 1)],
    "a release of another name": [("releases", 0, "node", "3")],
    "a release of many names": [("releases", 0, "nodes", [3, 3])],
    "releases of no names": [("releases", 0, "nodes", [])],
    "releases of truth values": [("releases", 0, "nodes", [True])],
    "a release with hits": [("releases", 0, "nodes", [3]), ("releases", 0, "hits", True)],
    "a noise of nan": [("releases", 0, "event", "noise_multiplier", NAN)],
    "a noise without end": [("releases", 0, "event", "noise_multiplier", float("inf"))],
    "a noise in text": [("releases", 0, "event", "noise_multiplier", "4")],
    "a claim that repeats nothing": [
        (
            "claim",
            "event",
            {"kind": "Repeated", "times": 0, "event": {"kind": "Laplace", "noise_multiplier": 4.0}},
        )
    ],
    "a claim that repeats less": [
        (
            "claim",
            "event",
            {
                "kind": "Repeated",
                "times": -1,
                "event": {"kind": "Laplace", "noise_multiplier": 4.0},
            },
        )
    ],
    "a claim of another event": [
        (
            "claim",
            "event",
            {"kind": "Poisson", "event": {"kind": "Laplace", "noise_multiplier": 4.0}},
        )
    ],
    "half a person": [("program", "rows_per_person", 0.5)],
    "no person": [("program", "rows_per_person", 0)],
    "a fact of an interval of nan": [("steps", "3", "fact", "low", NAN)],
    "a fact in two orders": [("steps", "3", "fact", "low", 1e9)],
    "a size below zero": [("steps", "1", "fact", "size", "l1", -1)],
    "a size of nan": [("steps", "1", "fact", "size", "l1", NAN)],
    "a fact that is a list": [("steps", "3", "fact", [])],
    "a branch on what is private": [(*NODE[3], "when", [[1, True]])],
    "a branch on itself": [(*NODE[3], "when", [[3, True]])],
    "a branch of numbers": [(*NODE[3], "when", [[2, 1]])],
    "a branch that is text": [(*NODE[3], "when", "never")],
}


def said(text: str, tmp_path, capsys) -> int:
    file = tmp_path / "proof.json"
    file.write_text(text, encoding="utf-8")
    code = answer.main([str(file)])
    assert capsys.readouterr().out.count("Traceback") == 0
    return code


@pytest.mark.parametrize("name", EDITS)
def test_whoever_deceives_is_refused(name, tmp_path, capsys):
    data: Any = copy.deepcopy(certificate())
    for *path, last, value in EDITS[name]:
        place = data
        for each in path:
            place = place[each]
        place[last] = value
    data["digest"] = digest(data["program"])
    assert said(json.dumps(data), tmp_path, capsys) in (1, 2)


def loops(**changes: Any) -> dict[str, Any]:
    """Noise in a loop: with honest numbers it is accepted."""
    data = certificate()
    nodes = data["program"]["nodes"]
    nodes[2:] = [{"loop": {"times": 3, "carried": [], "nodes": nodes[2:], **changes}}]
    event = {"kind": "Repeated", "event": data["releases"][0]["event"], "times": 3}
    data["claim"]["event"] = event
    data["digest"] = digest(data["program"])
    return data


LOOPS = [
    {"times": 4},
    {"times": 10**12},
    {"times": 0},
    {"times": -3},
    {"times": 3.0},
    {"times": True},
    {"times": "3"},
    {"nodes": []},
    {"nodes": {}},
    {"nodes": [{"loop": {"times": 3, "carried": [], "nodes": []}}]},
    {"carried": [{"id": 9, "start": 1, "next": 3, "low": 0, "high": 1, "grow": 0}]},
    {"carried": [{"id": 9, "start": 99, "next": 3}]},
    {"carried": [{"id": 9, "start": 2, "next": 2, "low": 0, "high": 1, "grow": -1}]},
    {"carried": [[]]},
    {"carried": None},
]


def test_an_honest_loop_is_accepted(tmp_path, capsys):
    assert said(json.dumps(loops()), tmp_path, capsys) == 0


@pytest.mark.parametrize("changes", LOOPS, ids=str)
def test_a_loop_that_deceives_is_refused(changes, tmp_path, capsys):
    assert said(json.dumps(loops(**changes)), tmp_path, capsys) in (1, 2)


def text_of(change: str) -> str:
    honest = json.dumps(certificate())
    if change == "a key twice":
        return honest.replace('"scale": 2', '"scale": 200, "scale": 2')
    if change == "the claim twice":
        return honest[:-1] + ', "claim": ' + json.dumps(certificate()["claim"]) + "}"
    if change == "nested without end":
        return honest[:-1] + ', "source": ' + "[" * 10**5 + "]" * 10**5 + "}"
    if change == "a number of a million digits":
        return honest.replace('"scale": 2', '"scale": ' + "9" * 10**6)
    if change == "an event nested without end":
        event = json.dumps(certificate()["claim"]["event"])
        deep = '{"kind": "Repeated", "times": 1, "event": ' * 5_000 + event + "}" * 5_000
        return honest.replace(f'"event": {event}', f'"event": {deep}', 1)
    if change == "cut off":
        return honest[:-5]
    return {"nothing": "", "a list": "[]", "a number": "3", "a name": '{"schema": "dpcheck"}'}[
        change
    ]


@pytest.mark.parametrize(
    "change",
    [
        *("a key twice", "the claim twice", "nested without end", "a number of a million digits"),
        *("an event nested without end", "cut off", "nothing", "a list", "a number", "a name"),
    ],
)
def test_a_file_that_deceives_is_refused(change, tmp_path, capsys):
    assert said(text_of(change), tmp_path, capsys) in (1, 2)


def test_a_node_nobody_uses_is_checked_all_the_same(tmp_path, capsys):
    data = certificate()
    data["program"]["nodes"].append(node(9, "exp", [1], []))
    data["steps"]["9"] = step("elementwise", "aggregate", 0, 1, l1=0)
    data["digest"] = digest(data["program"])
    assert said(json.dumps(data), tmp_path, capsys) == 1
