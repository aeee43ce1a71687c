"""Expressions for sums, joins, products, orders, counts, draws, and Python's own functions."""

from __future__ import annotations

NOISY = "(np.abs(np.clip(x, 0, 1)).sum() + rng.laplace(scale=2.0))"
MANY = "(np.clip(x, 0, 1).sum(axis=0) + rng.laplace(scale=2.0, size=3))"
OVER_AXES = ("sum", "mean", "any", "all", "var", "std", "max", "min")
ANYWHERE = ("ceil", "cos", "exp", "fabs", "floor", "sin", "tanh", "expm1")
POSITIVE = ("log", "log10", "log1p", "log2", "sqrt")


def reductions(name: str) -> list[str]:
    """Over all, over an axis, keeping it."""
    call = f"np.{name}"
    return [
        *(f"{call}(x)", f"{call}(x, axis=0)", f"{call}(x, axis=1)", f"{call}(x, axis=-1)"),
        *(f"{call}(x, axis=1, keepdims=True)", f"{call}(x, axis=(0, 1))"),
    ]


CASES: dict[str, list[str]] = {
    **{
        f"numpy.{n}": reductions(n)
        for n in ("sum", "mean", "any", "all", "var", "std", "max", "min")
    },
    "numpy.amax": ["np.amax(x, axis=1)"],
    "numpy.amin": ["np.amin(x, axis=1)"],
    "numpy.ptp": ["np.ptp(x, axis=0)", "np.ptp(x)"],
    "numpy.prod": ["np.prod(x, axis=1)", f"np.prod({MANY})"],
    "numpy.nansum": ["np.nansum(x)", "np.nansum(x, axis=0)"],
    "numpy.count_nonzero": ["np.count_nonzero(x)", "np.count_nonzero(x > 0, axis=0)"],
    "numpy.average": ["np.average(x, axis=0)", "np.average(x)"],
    "numpy.median": ["np.median(x)", "np.median(x, axis=0)", "np.median(x, axis=1)"],
    "numpy.quantile": ["np.quantile(x, 0.25)", "np.quantile(x, [0.25, 0.5], axis=0)"],
    "numpy.percentile": ["np.percentile(x, 90)", "np.percentile(x, 10, axis=1)"],
    "numpy.argmax": [f"np.argmax({MANY})", "np.argmax(x, axis=1)"],
    "numpy.argmin": [f"np.argmin({MANY})", "np.argmin(x, axis=1)"],
    "numpy.argsort": [f"np.argsort({MANY})"],
    "numpy.sort": ["np.sort(x, axis=1)", "np.sort(x.sum(axis=0))"],
    "numpy.cumsum": ["np.cumsum(x, axis=1)", "np.cumsum(x.sum(axis=0))"],
    "numpy.diff": ["np.diff(x.sum(axis=0))", "np.diff(x, axis=1)"],
    "None.ufunc.reduce": [
        "np.add.reduce(x)",
        "np.maximum.reduce(x, axis=1)",
        "np.add.reduce(x, axis=1)",
    ],
    "numpy.append": ["np.append(x.sum(axis=0), 1.0)"],
    "numpy.split": ["np.split(x, [2, 3])[1]", "np.split(x, 5)[4].sum(axis=0)"],
    "numpy.array_split": ["np.array_split(x, 2)[1]", "[p.sum() for p in np.array_split(x, 3)]"],
    "numpy.concatenate": [
        "np.concatenate([x, x], axis=1)",
        "np.concatenate([x.sum(axis=0), [1.0]])",
    ],
    "numpy.column_stack": ["np.column_stack([x, x[:, 0]])"],
    "numpy.hstack": ["np.hstack([x, x])", "np.hstack([x.sum(axis=0), 1.0])"],
    "numpy.vstack": ["np.vstack([x.sum(axis=0), x.max(axis=0)])"],
    "numpy.stack": ["np.stack([x, -x], axis=1)", "np.stack([x.sum(axis=0), x.max(axis=0)])"],
    "numpy.dot": ["np.dot(x, np.array([1.0, 2.0, 3.0]))", "np.dot(x.T, x)"],
    "numpy.matmul": ["np.matmul(x.T, x)", "x @ np.ones((3, 2))"],
    "numpy.inner": ["np.inner(x.sum(axis=0), x.sum(axis=0))"],
    "numpy.outer": ["np.outer(x.sum(axis=0), [1, 2])"],
    "numpy.vdot": ["np.vdot(x.sum(axis=0), [1, 2, 3])"],
    "numpy.einsum": [
        *("np.einsum('ij,ik->jk', x, x)", "np.einsum('ij->j', x)", "np.einsum('ij,ij->i', x, x)"),
        *("np.einsum('ij,j->i', x, np.ones(3))", "np.einsum('ij,k->i', x, np.ones(2))"),
    ],
    "numpy.tensordot": ["np.tensordot(x.sum(axis=0), np.ones((3, 2)), axes=1)"],
    "numpy.linalg.norm": [
        *("np.linalg.norm(x, axis=1)", "np.linalg.norm(x, ord=1, axis=1, keepdims=True)"),
        *("np.linalg.norm(x.sum(axis=0))", "np.linalg.norm(x, np.inf, axis=1)"),
    ],
    "numpy.histogram": [
        "np.histogram(x, bins=[0, 1, 2])[0]",
        "np.histogram(x[:, 0], bins=3, range=(0, 3))[0]",
    ],
    "numpy.histogram2d": [
        "np.histogram2d(x[:, 0], x[:, 1], bins=2, range=[(0, 3), (-1, 2)])[0]",
        "np.histogram2d(x[:, 0], x[:, 1], bins=[[0, 1, 2], [-1, 0, 3, 4]])[0]",
        "np.histogram2d(x[:, 0], x[:, 2], bins=[-1, 0, 1, 2])[0]",
    ],
    "numpy.histogramdd": [
        "np.histogramdd(x, bins=(2, 3, 1), range=[(0, 3), (-1, 2), (-4, 4)])[0]",
        "np.histogramdd([x[:, 0], x[:, 1]], bins=[[0, 1, 2], [-1, 0, 3, 4]])[0]",
    ],
    "numpy.bincount": ["np.bincount(np.clip(x, 0, 2), minlength=3)", "np.bincount(x, minlength=2)"],
    "numpy.digitize": ["np.digitize(x, [0.0, 1.0])", "np.digitize(x, [0.0, 1.0], right=True)"],
    "numpy.searchsorted": [
        "np.searchsorted([0.0, 1.0], x)",
        "np.searchsorted([0, 1], x, side='right')",
    ],
    "numpy.isin": ["np.isin(x, [0, 1])"],
    # Python's own functions.
    "builtins.abs": ["abs(x)", f"abs({NOISY})"],
    "builtins.all": [f"all([{NOISY} > 0, True])"],
    "builtins.any": [f"any([{NOISY} > 0, False])"],
    "builtins.bool": [f"bool({NOISY} > 0)"],
    "builtins.float": [f"float({NOISY})", "float(x.sum())"],
    "builtins.int": [f"int({NOISY})", "int(np.clip(x, 0, 1).sum())"],
    "builtins.str": [f"str({NOISY})"],
    "builtins.repr": [f"repr({NOISY})"],
    "builtins.format": [f"format({NOISY}, '.2f')"],
    "builtins.round": [f"round({NOISY}, 2)", f"round({NOISY})"],
    "builtins.len": ["len(x) * x"],
    "builtins.sum": ["sum(x)", f"sum([{NOISY}, 1.0])"],
    "builtins.max": [f"max({NOISY}, 1.0)", "max(x.sum(), 0)"],
    "builtins.min": [f"min({NOISY}, 1.0)"],
    "builtins.list": [f"list({MANY})", "list(x)", "[2 * v for v in list(x)]"],
    "builtins.tuple": [f"tuple({MANY})"],
    "builtins.dict": [f"dict(a={NOISY})"],
    "builtins.sorted": [f"sorted({MANY})", f"sorted(list({MANY}), key=lambda v: -v)"],
    "builtins.reversed": ["[i * x.sum() for i in reversed([1, 2])]"],
    "builtins.enumerate": ["[i * v for i, v in enumerate(x.sum(axis=0))]"],
    "builtins.zip": ["[a * b for a, b in zip(x.sum(axis=0), [1, 2, 3])]"],
    "builtins.map": [f"list(map(float, {MANY}))", "sum(map(lambda v: v * v, x))"],
    "builtins.filter": [
        "list(filter(lambda v: v > 0, [1, -1]))",
        "sum(filter(lambda v: v > 0, x))",
    ],
    "functools.partial": ["PARTIAL(np.sum, axis=0)(x)"],
    "_functools.reduce": ["REDUCE(lambda a, b: a * b, x.sum(axis=0))", "REDUCE(max, [1, 2], 5)"],
    "math.fsum": ["math.fsum(x)", f"math.fsum([{NOISY}, 0.5])"],
    "builtins.range": ["[x[:, i].sum() for i in range(3)]"],
    "builtins.set": ["[v for v in set([1])]"],
    "builtins.frozenset": ["len(frozenset([1, 2]))"],
    "builtins.isinstance": ["isinstance(x, np.ndarray)"],
    "builtins.type": ["type(x) is np.ndarray"],
    "builtins.hasattr": ["hasattr(x, 'shape')"],
    **{
        f"math.{n}": [f"math.{n}({NOISY})"]
        for n in ("ceil", "cos", "exp", "fabs", "floor", "sin", "tanh", "expm1")
    },
    **{
        f"math.{n}": [f"math.{n}(np.maximum({NOISY}, 0.5))"]
        for n in ("log", "log10", "log1p", "log2", "sqrt")
    },
}
METHODS = {
    **{
        n: [f"x.{n}()", f"x.{n}(axis=0)", f"x.{n}(axis=1)"]
        for n in ("sum", "mean", "max", "min", "var", "std", "any", "all")
    },
    "prod": ["x.prod(axis=1)"],
    "argmax": [f"{MANY}.argmax()", "x.argmax(axis=1)"],
    "argmin": [f"{MANY}.argmin()"],
    "argsort": [f"{MANY}.argsort()"],
    "cumsum": ["x.cumsum(axis=1)"],
    "dot": ["x.dot(np.ones(3))"],
}
DRAWS = {
    "laplace": ["rng.laplace(size=3)", "rng.laplace(0.0, 2.0)"],
    "normal": ["rng.normal(size=(2, 2))", "rng.normal(1.0, 2.0, 3)"],
    "standard_normal": ["rng.standard_normal(3)"],
    "exponential": ["rng.exponential(2.0, 3)"],
    "gumbel": ["rng.gumbel(0.0, 2.0, 3)"],
    "geometric": ["rng.geometric(0.3, 3)"],
    "uniform": ["rng.uniform(-1, 2, 3)"],
    "random": ["rng.random(3)", "rng.random()"],
    "integers": ["rng.integers(1, 7, 3)", "rng.integers(2, size=4)"],
    "binomial": ["rng.binomial(1, 0.3, 5)"],
    "choice": ["rng.choice(4, 2)"],
    "permutation": ["rng.permutation(4)"],
}
