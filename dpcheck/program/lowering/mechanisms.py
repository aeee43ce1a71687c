"""Mechanisms of diffprivlib and OpenDP inside of a function: noise of a known law, added to a value.

What they are told of the sensitivity only sets the scale; how far the value really moves is what the
release is charged for. A total that moves by 5 under `Laplace(epsilon=1, sensitivity=1)` costs 5.

| mechanism | noise |
|---|---|
| diffprivlib `Laplace` | Laplace, scale sensitivity / (epsilon - log(1 - delta)) |
| diffprivlib `LaplaceTruncated`, `LaplaceFolded` | the same, and a function of the result |
| diffprivlib `Geometric`, `...Truncated`, `...Folded` | discrete Laplace, scale sensitivity / epsilon |
| diffprivlib `Gaussian`, `GaussianAnalytic` | normal, of the scale that it has computed |
| OpenDP `make_laplace`, of one number | Laplace; of whole numbers discrete Laplace |
| OpenDP `make_gaussian`, of one number | normal; of whole numbers discrete normal |
| OpenDP `make_geometric`, of one number | discrete Laplace |

Assumes: the libraries draw from the laws they document, from a secret source.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from dpcheck.program import releases
from dpcheck.program.lowering.drawing import drawn
from dpcheck.program.lowering.functions import apply
from dpcheck.program.lowering.registry import FUNCTIONS, lower
from dpcheck.program.reading.public import released_call
from dpcheck.program.reading.values import Mechanism

if TYPE_CHECKING:
    from dpcheck.program.reading.reader import Reader

LIBRARIES = "mechanisms of libraries add noise of the law they document, from a secret source"
_PLAIN = ("Laplace", "LaplaceTruncated", "LaplaceFolded")
_WHOLE = ("Geometric", "GeometricTruncated", "GeometricFolded")
_NORMAL = ("Gaussian", "GaussianAnalytic")


def load() -> None:
    """Register those that have been imported."""
    diffprivlib: Any = sys.modules.get("diffprivlib.mechanisms")
    for name in (*_PLAIN, *_WHOLE, *_NORMAL) if diffprivlib is not None else ():
        kind = getattr(diffprivlib, name, None)
        if kind is not None and id(kind) not in FUNCTIONS:
            lower(kind)(_diffprivlib(kind, name))
    opendp: Any = sys.modules.get("opendp.measurements")
    if opendp is None or id(opendp.make_laplace) in FUNCTIONS:
        return
    for name, laws in (
        ("make_laplace", (releases.LAPLACE, releases.DISCRETE_LAPLACE)),
        ("make_gaussian", (releases.GAUSSIAN, releases.DISCRETE_GAUSSIAN)),
        ("make_geometric", (None, releases.DISCRETE_LAPLACE)),
    ):
        lower(getattr(opendp, name))(_opendp(name, *laws))
    for module, name in (("domains", "atom_domain"), ("metrics", "absolute_distance")):
        function = getattr(sys.modules[f"opendp.{module}"], name)
        lower(function)(_public(function))


def _public(function: Callable[..., object]) -> Callable[..., object]:
    def handler(reader: Reader, *args: object, **named: object) -> object:
        """A domain or a metric of OpenDP: public."""
        plain = [reader.plain(each) for each in args]
        words = {key: reader.plain(each) for key, each in named.items()}
        return reader.attempt(lambda: function(*plain, **words))

    return handler


def _diffprivlib(kind: Any, name: str) -> Callable[..., object]:
    def handler(reader: Reader, random_state: object = None, **named: object) -> object:
        """Noise of that mechanism of diffprivlib."""
        if random_state is not None:
            reader.refuse(
                "known-noise",
                "a mechanism has a seed or a generator of its own",
                "leave random_state out",
            )
        if not reader.is_public(named):
            reader.refuse(
                "private-scale",
                f"the parameters of {name} are computed from the data",
                "use public numbers",
            )
        words = {key: reader.plain(each) for key, each in named.items()}
        real: Any = reader.attempt(lambda: kind(**words))  # checks the parameters
        if name in _NORMAL:
            law, scale = releases.GAUSSIAN, float(real._scale)
        elif name in _WHOLE:
            law, scale = releases.DISCRETE_LAPLACE, real.sensitivity / real.epsilon
        else:
            law = releases.LAPLACE
            scale = real.sensitivity / (real.epsilon - math.log(1 - real.delta))
        after = None
        if name.endswith("Truncated"):
            after = real._truncate
        elif name.endswith("Folded"):
            after = real._fold
        return Mechanism(name, law, float(scale), "diffprivlib", name in _WHOLE, after)

    return handler


def _opendp(name: str, law: str | None, whole: str) -> Callable[..., object]:
    def handler(
        reader: Reader, input_domain: object, input_metric: object, scale: object, **named: object
    ) -> object:
        """Noise of that measurement of OpenDP."""
        if named or not reader.is_public(scale):
            reader.unknown(f"{name} with these options")
        carrier = str(getattr(input_domain, "type", ""))
        domain = str(input_domain)
        if not domain.startswith("AtomDomain"):
            reader.unknown(f"{name} of another domain than numbers")
        function = getattr(sys.modules["opendp.measurements"], name)
        reader.attempt(lambda: function(input_domain, input_metric, reader.plain(scale)))
        integral = any(f"({t}" in carrier + domain or f"T={t}" in domain for t in _INTEGERS) or (
            carrier in _INTEGERS
        )
        chosen = whole if integral else law
        if chosen is None:
            reader.unknown(f"{name} of numbers that are not whole")
        return Mechanism(name, chosen, float(reader.plain(scale)), "OpenDP", integral)  # type: ignore[arg-type]

    return handler


_INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")


def noisy(reader: Reader, owner: Mechanism, value: object) -> object:
    """value plus its noise."""
    if reader.is_released(value):
        reader.unknown(f"{owner.name} of a value that is no private one")
    node = reader.node(value)
    if node.ndim:
        reader.refuse(
            "unknown-operation", f"{owner.name} takes one number", "call it for each number"
        )
    if owner.whole and node.dtype.kind not in "iu":
        reader.refuse(
            "unknown-noise",
            f"{owner.name} takes whole numbers, and this one may have a fraction",
            "turn it into an int first",
        )
    if not owner.scale > 0:
        reader.refuse("no-noise", "the scale of the noise is 0", "use a positive scale")
    reader.graph.assumes[LIBRARIES] = None
    reader.source = owner.library
    noise = drawn(reader, owner.law, (), scale=np.asarray(owner.scale), method=owner.library)
    found = reader.array(apply(reader, "add", node, noise))
    return found if owner.after is None else released_call(reader, owner.after, (found,))
