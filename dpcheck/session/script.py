"""A violation as a program of its own: the audited function, a pair, an event, counts.

It needs nothing of the project where the function's source can be written into it, and numpy only where the
function, its data or the event do.
"""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path

from dpcheck.auditing.counterexample.standalone import standalone
from dpcheck.auditing.mechanism import Mechanism, as_mechanism
from dpcheck.auditing.outputs.flat import ADDRESS
from dpcheck.auditing.outputs.kinds.text import NUMBER
from dpcheck.auditing.signatures import Adapted
from dpcheck.core.audit_result import AuditEntry
from dpcheck.core.witness import Witness
from dpcheck.execution import references

_PROGRAM = '''"""{name} is not ({epsilon:g}, {delta:g})-private: a counterexample, found by dpcheck.

A fair coin picks one of two neighbouring datasets, one call, and an event that was fixed before is
looked for in the output. Under the claim, a call in the event came from the likelier dataset with
probability at most e^eps/(1 + e^eps); the p-value is the exact binomial tail.
"""

from __future__ import annotations

{imports}
{load}

first = {first}

second = {second}


def event(out):
    """What tells the datasets apart; an output that lacks what is asked for is not in it."""
    try:
        return bool({rule})
    except (AttributeError, IndexError, KeyError, TypeError, ValueError):
        return False


def run(data, rng):
    return {call}


def tail(least, total, p):
    """P(Binomial(total, p) >= least), exactly."""
    logs = [
        math.lgamma(total + 1) - math.lgamma(k + 1) - math.lgamma(total - k + 1)
        + k * math.log(p) + (total - k) * math.log1p(-p)
        for k in range(max(0, least), total + 1)
    ]
    return math.fsum(math.exp(value) for value in logs)


epsilon, delta, calls = {epsilon!r}, {delta!r}, {calls}
likelier, other = {sides}
rng = {generator}(int(sys.argv[1]) if len(sys.argv) > 1 else {seed})
hits = [0, 0]
for _ in range(calls):
    side = int(rng.random() < 0.5)
    hits[side] += event(run((likelier, other)[side], rng))
# Calls that delta excuses: more than that many have probability 1e-9.
excused = 0 if delta == 0 else next(k for k in range(calls) if tail(k + 1, calls, delta / 2) < 1e-9)
p_value = min(1.0, tail(hits[0] - excused, sum(hits), 1 / (1 + math.exp(-epsilon)))) + (delta > 0) * 1e-9
print(f"event: {shown}")
print(f"{{calls}} calls: in the event {{hits[0]}} times on the likelier dataset, {{hits[1]}} on the other")
print(f"under epsilon = {{epsilon:g}}, delta = {{delta:g}} that has probability at most {{p_value:.3g}}")
print("violated" if p_value < 1e-3 else "not shown by these calls")
sys.exit(p_value < 1e-3)
'''


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the audited function comes from, as source; `pairs` names its declared neighbours."""

    load: str
    call: str
    pairs: str | None = None


def origin_of_target(text: str) -> Origin:
    """A target given as file.py:object or package.module:object."""
    reference = references.parse(text)
    target = reference.load()
    alone = standalone(target) if callable(target) else None
    if alone is not None:
        return Origin(alone, _call(as_mechanism(target)))
    name = f"module.{reference.attribute}"
    if reference.location.endswith(".py"):
        path = Path(reference.location)
        load = (
            "import importlib.util\n\n"
            f"sys.path.insert(0, {str(path.parent)!r})\n"
            f"spec = importlib.util.spec_from_file_location({path.stem!r}, {str(path)!r})\n"
            "module = importlib.util.module_from_spec(spec)\n"
            f"sys.modules[{path.stem!r}] = module\n"
            "spec.loader.exec_module(module)\n"
            f"function = {name}"
        )
    else:
        load = f"import {reference.location} as module\n\nfunction = {name}"
    if hasattr(target, "sample_releases"):
        load += ".sample_releases"
    pairs = f"{name}.__dpcheck_audited__.neighbours"
    return Origin(load, _call(as_mechanism(target)), pairs)


def origin_of_mechanism(mechanism: Mechanism) -> Origin:
    """A function that was passed in: imported if it can be, else a place to put it."""
    function = mechanism.function
    if isinstance(function, Adapted):
        function = function.function
    alone = standalone(function) if callable(function) else None
    if alone is not None:
        return Origin(alone, _call(mechanism))
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    found = bool(module) and module != "__main__" and "<" not in name and _exists(module)
    load = (
        f"import {module} as module\n\nfunction = module.{name}"
        if found
        else f"# The audited function {name or function!r} cannot be imported; put it here.\n"
        "function = ..."
    )
    return Origin(load, _call(mechanism))


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except (ImportError, ValueError):
        return False


def _call(mechanism: Mechanism) -> str:
    """One call as source, however the function wants its generator."""
    made, rng = mechanism.function, "rng"
    if isinstance(made, Adapted):
        value = "int(rng.integers(1 << 32))" if made.seed else "rng"
        rng = "" if made.keyword is None else f"{made.keyword}={value}"
    given = ["data", *(["1"] if mechanism.batched else []), *([rng] if rng else [])]
    return f"function({', '.join(given)})" + ("[0]" if mechanism.batched else "")


def render(entry: AuditEntry, origin: Origin, seed: int) -> str:
    """The program; empty where the witness has no rule, or its data cannot be written down."""
    witness = entry.witness
    if witness is None or "rule" not in witness:
        return ""
    datasets = _datasets(witness, origin)
    if datasets is None:
        return ""
    rule = str(witness["rule"])
    helper = _NUMBERS if "numbers(" in rule or "around(" in rule else ""
    takes_rng = "rng" in origin.call
    written = "".join((*datasets, rule, origin.load, helper, "np." if takes_rng else ""))
    return _PROGRAM.format(
        name=entry.name,
        epsilon=float(witness["epsilon_claimed"]),
        delta=float(witness["delta"]),
        imports=_imports(written),
        load=origin.load + helper,
        generator="np.random.default_rng" if takes_rng else "random.Random",
        first=datasets[0],
        second=datasets[1],
        rule=rule,
        shown=str(witness["rule"]).replace("{", "{{").replace("}", "}}").replace('"', "'"),
        call=origin.call,
        calls=int(witness["confirmed_calls"]),
        sides="first, second" if witness["likelier_on"] == "first" else "second, first",
        seed=seed,
    )


_NUMBERS = f'''


def numbers(text):
    """The numbers in a text, in order."""
    return [float(each) for each in re.findall({NUMBER.pattern!r}, without_addresses(text))]


def around(text):
    """A text with its numbers replaced."""
    return re.sub({NUMBER.pattern!r}, "#", without_addresses(text))


def without_addresses(text):
    return re.sub({ADDRESS.pattern!r}, "0x", str(text))
'''


def _imports(written: str) -> str:
    """What the program itself uses; the function's own imports come with it."""
    standard = {"math", "random", "sys"} | {
        m for m in ("asyncio", "json", "re") if f"{m}." in written
    }
    lines = [f"import {module}" for module in sorted(standard)]
    others = {"np.": "import numpy as np", "pd.": "import pandas as pd"}
    found = [line for use, line in others.items() if use in written]
    return "\n".join([*lines, "", *found, ""] if found else [*lines, ""])


def _datasets(witness: Witness, origin: Origin) -> tuple[str, str] | None:
    if "source" in witness:
        first, second = witness["source"]
        return first, second
    if origin.pairs is None or "shrunk" in str(witness["pair"]):
        return None
    found = f"next(p for p in {origin.pairs} if p.label == {witness['pair']!r})"
    return f"{found}.first", f"{found}.second"
