"""`dpcheck prove TARGET`: what a plain function spends, for every dataset, or why that is not proved."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dpcheck.cli.project import own_stdout
from dpcheck.cli.terminal.completion import targets
from dpcheck.cli.terminal.exit_codes import ExitCode
from dpcheck.core.data import Plain
from dpcheck.core.errors import NotProvable
from dpcheck.core.events.serialize import to_dict

if TYPE_CHECKING:
    from dpcheck.program.proof import Proof
    from dpcheck.session.proving import Answer


@click.command("prove")
@click.argument("target", shell_complete=targets)
@click.option(
    "--adjacency",
    type=click.Choice(["replace-one", "add-remove", "zero-out"]),
    help="What makes two datasets neighbours; by default what the function declares.",
)
@click.option("--delta", type=float, help="The delta at which epsilon is printed.")
@click.option("--format", "style", type=click.Choice(["text", "json"]), default="text")
@click.option(
    "--certificate",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the proof into this file, for 'dpcheck verify'.",
)
def command(
    target: str, adjacency: str | None, delta: float | None, style: str, certificate: Path | None
) -> None:
    """Prove what TARGET, file.py:function or package.module:function, spends.

    The function's source is read, not run; its data are described by @dpcheck.audited, by
    neighbours=[(D, D2)] of which only shapes and types are read, or by records=dpcheck.records(...).

    Exit codes: 0 proved (within the claim, if there is one), 2 failed, 3 not proved: nothing is, the
    proved bound is above the claim, or the description is a guess. A bound is no violation: `dpcheck
    audit` looks for data that attain it.
    """
    from dpcheck.session.proving import prove_target

    try:
        with own_stdout():
            found = prove_target(target, adjacency)
    except NotProvable as refused:
        if style == "json":
            click.echo(json.dumps(_refusal(refused), indent=1))
        else:
            click.echo(refused.message)
        sys.exit(ExitCode.UNDECIDED)
    proof, claim = found.proof, found.claim
    at = delta if delta is not None else (claim.budget.delta if claim is not None else 0.0)
    answer = _answer(found, at)
    click.echo(json.dumps(answer, indent=1) if style == "json" else _text(proof, answer))
    if certificate is not None:
        written = proof.certificate(at)
        certificate.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")
        click.echo(
            f"certificate written to {certificate}; check it with 'dpcheck verify'", err=True
        )
    waits = bool(found.guessed) or answer["within_claim"] is False
    sys.exit(ExitCode.UNDECIDED if waits else ExitCode.OK)


def _refusal(refused: NotProvable) -> dict[str, Plain]:
    return {
        "schema": "dpcheck.proof/1",
        "proved": False,
        "code": refused.code,
        "kind": refused.kind,
        "line": refused.line,
        "message": refused.message,
        "remedy": refused.remedy,
    }


def _answer(found: Answer, delta: float) -> dict[str, Plain]:
    from dpcheck.session.proving import within

    proof, claim = found.proof, found.claim
    bound = proof.epsilon(delta=delta)
    other = None if found.other is None else found.other[0].epsilon(delta=delta).upper
    return {
        "schema": "dpcheck.proof/1",
        "proved": True,
        "adjacency": str(proof.adjacency),
        "event": to_dict(proof.event),
        "epsilon": bound.upper if math.isfinite(bound.upper) else "inf",
        "delta": delta,
        "method": bound.method,
        "claim": None
        if claim is None
        else {"epsilon": claim.budget.epsilon, "delta": claim.budget.delta},
        "within_claim": None if claim is None else within(proof, claim),
        "releases": [
            {
                "line": each.line,
                "times": each.times,
                "sensitivity": each.sensitivity,
                "noise": each.noise,
                "event": None if each.event is None else to_dict(each.event),
            }
            for each in proof.releases
        ],
        "assumes": list(bound.assumes),
        "guessed": list(found.guessed),
        "condition": found.condition,
        "other": None
        if found.other is None or other is None or not math.isfinite(other)
        else {"epsilon": other, "condition": found.other[1]},
    }


def _text(proof: Proof, answer: dict[str, Plain]) -> str:
    condition = f", {answer['condition']} (a guess)" if answer["condition"] else ""
    lines = [
        f"proved: epsilon at most {answer['epsilon']:.6g} at delta {answer['delta']:g} under "
        f"{proof.adjacency} ({answer['method']}){condition}"
        if answer["epsilon"] != "inf"
        else f"proved: no finite epsilon at delta {answer['delta']:g}; pass --delta, such as 1e-5"
    ]
    if answer["other"] is not None and answer["other"]["epsilon"] != answer["epsilon"]:
        other = answer["other"]
        lines.append(f"  {other['epsilon']:.6g} {other['condition']} (a guess)")
    for each in proof.releases:
        times = f" {each.times} times" if each.times > 1 else ""
        lines.append(
            f"  {each.line}: one record moves it by at most {each.sensitivity:.6g}, {each.noise}{times}: "
            f"{each.event if each.event is not None else 'nothing is spent'}"
        )
    if answer["claim"] is not None:
        claimed = answer["claim"]
        stated = f"epsilon {claimed['epsilon']:g} at delta {claimed['delta']:g}"
        lines.append(
            f"  within the claim of {stated}"
            if answer["within_claim"]
            else f"  the claim is {stated}: whether more is spent is not known. Run dpcheck audit to "
            "search for data that attain more"
        )
    if answer["guessed"]:
        lines.append(
            f"guessed: {', '.join(answer['guessed'])}. The proof is only as good as these guesses: correct "
            "them, then turn confirmed=False into confirmed=True"
        )
    lines.append("assumes:")
    lines += [f"  - {each}" for each in answer["assumes"]]
    return "\n".join(lines)
