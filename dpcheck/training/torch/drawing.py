"""Random numbers: normal ones may become noise, all others are coins that do not depend on the data."""
# mypy: disable-error-code="arg-type, assignment, attr-defined, misc, no-any-return, operator, union-attr"
# ruff: noqa: PIE810

from __future__ import annotations

from typing import Any

import torch

from dpcheck.training.torch.facts import Fact, Numbers, Sum, Why, digest


def drawn(
    tape: Any, func: Any, name: str, args: Any, kwargs: Any, facts: list[Fact], out: Any
) -> None:
    """What is known of the result of a random operation."""
    number = len(tape.draws)
    tape.draws.append(tape.line())
    results = [
        x for x in (out if isinstance(out, (tuple, list)) else [out]) if isinstance(x, torch.Tensor)
    ]
    shape_only = name.endswith("_like") or name.endswith("_")
    if name in {"native_dropout", "_fused_dropout"} and facts[0].owner is not None:
        _dropout(tape, number, results, facts[0], args)
        return
    if any(f.private for f in facts) and not shape_only:
        for each in results:
            tape.set(
                each,
                Fact(
                    why=Why(
                        "private-draw",
                        tape.line(),
                        f"{name} draws by numbers of the data",
                        "draw by public numbers",
                    )
                ),
            )
        return
    law, scale = _law(tape, name, func, args, kwargs)
    for each in results:
        if law == "normal":
            if scale is None:
                tape.set(
                    each,
                    Fact(
                        why=Why(
                            "noise-scale",
                            tape.line(),
                            "the noise's scale is no known number",
                            "multiply standard noise by a number",
                        )
                    ),
                )
            elif scale == 0:
                tape.set(each, Fact(Numbers(0, 0), "one", "one", 0.0, value=0.0))
            else:
                tape.set(each, Fact(sum=Sum((), ((number, scale),))))
                tape.drawn[number] = (each.detach().clone(), scale)
        else:
            key = digest(
                "coins",
                name,
                [a for a in args if isinstance(a, (int, float))][-2:],
                {k: v for k, v in kwargs.items() if isinstance(v, (int, float))},
            )
            bounds = Numbers(0, 1) if law in {"uniform", "bernoulli"} else Numbers()
            tape.set(each, Fact(bounds, key, digest(key, number)))


def _law(tape: Any, name: str, func: Any, args: Any, kwargs: Any) -> tuple[str, float | None]:
    base = name.removesuffix("_")
    if base in {"randn", "randn_like"}:
        return "normal", 1.0
    if base in {"normal", "normal_functional"}:
        named = {a.name: v for a, v in zip(func._schema.arguments, args, strict=False)} | kwargs
        std = named.get("std", 1.0)
        mean = named.get("mean", 0.0)
        found = [tape.fact(x) if isinstance(x, torch.Tensor) else None for x in (mean, std)]
        if any(x is not None and (not x.public or x.value is None) for x in found):
            return "normal", None
        return "normal", float(std) if found[1] is None else found[1].value
    if base in {"bernoulli"}:
        return "bernoulli", None
    if base in {"rand", "rand_like"}:
        return "uniform", None
    return "other", None


def _dropout(tape: Any, number: int, results: list[Any], fact: Fact, args: Any) -> None:
    key = digest("coins", "dropout", args[1])
    exact = digest(key, number)
    keep = fact.numbers
    scale = 1.0 / (1.0 - float(args[1])) if float(args[1]) < 1 else 0.0
    numbers = Numbers(
        min(0.0, keep.lo * scale), max(0.0, keep.hi * scale), keep.inf, keep.nan or keep.inf
    )
    tape.set(
        results[0],
        Fact(
            numbers,
            digest("dropped", fact.ukey, key),
            digest("dropped", fact.ekey, exact),
            owner=fact.owner,
        ),
    )
    tape.set(results[1], Fact(Numbers(0, 1), key, exact))
