"""Certificates written by hand: accepted when true, refused as soon as one statement is false."""

from __future__ import annotations

import ast
import copy
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dpcheck.verify import alone, answer
from dpcheck.verify.file import check_data
from dpcheck.verify.program.check import digest
from dpcheck.verify.program.common import NoCertificate
from dpcheck.verify.result import Refused

KERNEL = Path(alone.__file__).parent
LINE = {"line": "by_hand.py:1"}


def node(
    key: int,
    primitive: str,
    args: list[int],
    shape: list[Any],
    dtype: str = "float64",
    **params: Any,
) -> dict[str, Any]:
    return {
        "id": key,
        "primitive": primitive,
        "args": args,
        "params": params,
        "shape": shape,
        "dtype": dtype,
        **LINE,
    }


def step(rule: str, kind: str, low: Any = None, high: Any = None, **size: Any) -> dict[str, Any]:
    fact: dict[str, Any] = {"kind": kind}
    if low is not None:
        fact |= {"low": low, "high": high, "nan": False}
    if size:
        fact["size"] = size
    return {"rule": rule, "fact": fact}


def certificate(adjacency: str = "replace-one") -> dict[str, Any]:
    """Values in [0, 1], their sum, Laplace noise of scale 2: epsilon 1/2."""
    one = {"entries": 1, "l1": 1, "l2": 1, "linf": 1, "changed": 1}
    moved = {**one, "changed": 1}
    rows = None if adjacency == "add-remove" else 10
    most = 2**40 if rows is None else 10
    program = {
        "adjacency": adjacency,
        "rows": rows,
        "rows_per_person": 1,
        "nodes": [
            node(0, "data", [], [{"rows": -1}], source="x", low=0, high=1, missing=False),
            node(1, "sum", [0], [], axes=[0]),
            node(2, "draw", [], [], law="laplace", scale=2),
            node(3, "release", [1, 2], [], sign=1, flip=False),
        ],
        "outputs": [3],
    }
    event = {"kind": "Laplace", "noise_multiplier": 4.0 if adjacency == "replace-one" else 2.0}
    return {
        "schema": "dpcheck.proved/1",
        "kind": "program",
        "claim": {"event": event, "adjacency": adjacency},
        "source": [{"name": "by_hand.py", "sha256": "0" * 64}],
        "digest": digest(program),
        "program": program,
        "steps": {
            "0": step("data", "rows", 0, 1, **one),
            "1": step("sums", "aggregate", 0, most, **moved),
            "2": step("draw", "draw"),
            "3": step("release", "released", -1600, most + 1600),
        },
        "releases": [{"node": 3, "event": event, "times": 1}],
        "assumes": [],
    }


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove", "zero-out"])
def test_a_true_certificate_is_accepted(adjacency):
    found = check_data(certificate(adjacency))
    assert "epsilon 0.5 at delta 0" in found.statement
    assert found.steps == 5
    assert any(word.startswith("trusted:") for word in found.words)


FALSE = {
    "the data are wider": ("steps", "0", "fact", "high", 0.9),
    "a row is larger": ("steps", "0", "fact", "size", "l1", 0.9),
    "the sum moves further": ("steps", "1", "fact", "size", "l1", 0.9),
    "the sum is larger": ("steps", "1", "fact", "high", 5),
    "the sum is private": ("steps", "1", "fact", "kind", "released"),
    "the noise is less": ("releases", 0, "event", "noise_multiplier", 4.1),
    "the claim is more": ("claim", "event", "noise_multiplier", 4.1),
    "the claim is nothing": ("claim", "event", {"kind": "Sequential", "events": []}),
    "the release costs something": ("releases", 0, "event", None),
    "another rule": ("steps", "1", "rule", "whole"),
    "another relation": ("claim", "adjacency", "add-remove"),
    "another program": ("program", "nodes", 2, "params", "scale", 20),
    "no digest": ("digest", "0" * 64),
}


@pytest.mark.parametrize("name", FALSE)
def test_a_false_statement_is_refused(name):
    *path, last, value = FALSE[name]
    data = copy.deepcopy(certificate())
    place: Any = data
    for each in path:
        place = place[each]
    place[last] = value
    with pytest.raises(Refused):
        check_data(data)


@pytest.mark.parametrize("value", [None, [], {}, "text", -1, 1e308, True, [[1]], {"kind": 3}])
@pytest.mark.parametrize("where", ["releases", "steps", "claim", "digest", "source"])
def test_whatever_stands_there_is_refused_or_accepted_and_never_an_error(where, value):
    data = certificate()
    data[where] = [value] if where == "releases" else value
    if where == "source":
        check_data(data)  # only named in the answer
        return
    with pytest.raises(Refused):
        check_data(data)


def changed(change: Any) -> dict[str, Any]:
    """The certificate of another program, its digest written anew."""
    data = certificate()
    change(data)
    data["digest"] = digest(data["program"])
    return data


def _add(
    data: dict[str, Any], made: dict[str, Any], stated: dict[str, Any], *, returned: bool = True
) -> None:
    data["program"]["nodes"].append(made)
    data["steps"][str(made["id"])] = stated
    if returned:
        data["program"]["outputs"].append(made["id"])


def private_output(data):
    data["program"]["outputs"].append(1)


def noise_twice(data):
    _add(
        data,
        node(4, "release", [1, 2], [], sign=1, flip=False),
        step("release", "released", -1600, 1610),
    )
    data["releases"].append({**data["releases"][0], "node": 4})
    data["claim"]["event"] = {"kind": "Repeated", "event": data["releases"][0]["event"], "times": 2}


def noise_returned(data):
    data["program"]["outputs"].append(2)


def noise_taken_back(data):
    _add(data, node(4, "subtract", [3, 2], []), step("elementwise", "released", "-inf", "inf"))


def released_twice_listed_once(data):
    _add(
        data, node(4, "draw", [], [], law="laplace", scale=2), step("draw", "draw"), returned=False
    )
    _add(
        data,
        node(5, "release", [1, 4], [], sign=1, flip=False),
        step("release", "released", -1600, 1610),
    )


def noise_of_an_unknown_law(data):
    data["program"]["nodes"][2]["params"]["law"] = "cauchy"


def a_private_value_used_as_released(data):
    _add(data, node(4, "apply", [1], []), step("apply", "released", "-inf", "inf"))


def ids_used_again(data):
    _add(
        data,
        node(1, "sum", [0], [], axes=[0]),
        step("sums", "aggregate", 0, 10, l1=1),
        returned=False,
    )


def two_rows_a_person(data):
    data["program"]["rows_per_person"] = 2


def a_draw_from_outside_in_a_loop(data):
    body = {"times": 3, "carried": [], "nodes": [data["program"]["nodes"].pop()]}
    data["program"]["nodes"].append({"loop": body})


@pytest.mark.parametrize(
    "change",
    [
        private_output,
        noise_twice,
        noise_returned,
        noise_taken_back,
        released_twice_listed_once,
        noise_of_an_unknown_law,
        a_private_value_used_as_released,
        ids_used_again,
        two_rows_a_person,
        a_draw_from_outside_in_a_loop,
    ],
)
def test_a_program_that_spends_more_is_refused(change):
    with pytest.raises(Refused):
        check_data(changed(change))


def looped(times: int, claimed: int) -> dict[str, Any]:
    """Noise drawn and added in every round."""

    def change(data):
        nodes = data["program"]["nodes"]
        nodes[2:] = [{"loop": {"times": times, "carried": [], "nodes": nodes[2:]}}]
        data["claim"]["event"] = {
            "kind": "Repeated",
            "event": data["releases"][0]["event"],
            "times": claimed,
        }

    return changed(change)


def test_a_loop_costs_its_rounds():
    assert "epsilon 5 at delta 0" in check_data(looped(10, 10)).statement
    with pytest.raises(Refused, match="spend more"):
        check_data(looped(10, 9))


def carried(grow: float, times: int = 10) -> dict[str, Any]:
    """total = total + released, from 0 on."""

    def change(data):
        nodes = data["program"]["nodes"]
        start = node(5, "constant", [], [], value=0)
        body = [*nodes[2:], node(6, "add", [7, 3], [])]
        hand = {"id": 7, "start": 5, "next": 6, "low": 0, "high": 0, "grow": grow}
        nodes[2:] = [start, {"loop": {"times": times, "carried": [hand], "nodes": body}}]
        data["program"]["outputs"] = [6]
        data["steps"] |= {
            "5": step("constant", "public"),
            "6": step("elementwise", "released", -1610 * 11, 1610 * 11),
        }
        data["claim"]["event"] = {
            "kind": "Repeated",
            "event": data["releases"][0]["event"],
            "times": times,
        }

    return changed(change)


def test_what_a_round_hands_on_stays_in_its_interval():
    check_data(carried(1610))
    with pytest.raises(Refused, match="handed on leaves"):
        check_data(carried(1609))


def test_what_the_kernel_does_not_know_has_no_certificate():
    data = certificate()
    data["kind"] = "jaxpr"
    with pytest.raises(NoCertificate, match="no certificate yet"):
        check_data(data)
    with pytest.raises(NoCertificate, match="primitive bessel"):
        check_data(
            changed(
                lambda d: d["program"]["nodes"].insert(1, node(9, "bessel", [0], [{"rows": -1}]))
            )
        )


def test_an_accountants_bound_must_be_about_the_same_event():
    data = certificate()
    bound = {
        "schema": "dpcheck.bound/1",
        "claim": {**data["claim"], "epsilon": 0.5, "delta": 0.0},
        "proofs": [
            {
                "parts": [{"pair": {"kind": "laplace", "shift": 0.5, "rate": 1.0}, "times": 1}],
                "by": {"kind": "pure"},
            }
        ],
    }
    data["bound"] = bound
    assert "accountant's certificate" in check_data(data).statement
    bound["claim"]["event"] = {"kind": "Laplace", "noise_multiplier": 40.0}
    with pytest.raises(Refused, match="another event"):
        check_data(data)


# One file -----------------------------------------------------------------------------------------------


def test_the_kernel_imports_the_standard_library_and_itself_only():
    for file in KERNEL.rglob("*.py"):
        for each in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            names = [a.name for a in each.names] if isinstance(each, ast.Import) else []
            names += [each.module or ""] if isinstance(each, ast.ImportFrom) else []
            for name in names:
                ours = name == "dpcheck.verify" or name.startswith("dpcheck.verify.")
                assert ours or name.split(".")[0] in sys.stdlib_module_names, (file, name)


def test_the_single_file_holds_what_the_package_runs_byte_by_byte():
    space: dict[str, Any] = {"__name__": "kernel"}
    exec(compile(alone.single_file(), "verify.py", "exec"), space)
    held = space["SOURCES"]
    for file in KERNEL.rglob("*.py"):
        name = ".".join(("dpcheck", "verify", *file.relative_to(KERNEL).with_suffix("").parts))
        if file.name != "alone.py":
            assert held.pop(name).encode() == file.read_bytes()
    assert not held


def test_the_single_file_checks_with_nothing_installed(tmp_path):
    kernel, proof = tmp_path / "verify.py", tmp_path / "proof.json"
    kernel.write_text(alone.single_file(), encoding="utf-8")
    for data, code in ((certificate(), 0), (looped(10, 9), 1), ({"schema": "other"}, 2)):
        proof.write_text(json.dumps(data))
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(kernel), str(proof)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            timeout=60,
        )
        assert done.returncode == code, done
    proof.write_text(json.dumps(certificate()))
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(kernel), str(proof)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.splitlines() == answer.lines(check_data(certificate()))
