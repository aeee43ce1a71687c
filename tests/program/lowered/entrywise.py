"""Expressions for functions of entries, shapes and Python's own functions."""

from __future__ import annotations

import numpy as np

from dpcheck.program.rules.functions import FUNCTIONS

TWO = [name for name, each in FUNCTIONS.items() if each.compute.nin == 2]
ONE = [name for name, each in FUNCTIONS.items() if each.compute.nin == 1]
NOISY = "(np.abs(np.clip(x, 0, 1)).sum() + rng.laplace(scale=2.0))"

CASES: dict[str, list[str]] = {
    **{f"numpy.{getattr(np, n).__name__}": [f"np.{n}(x)", f"np.{n}({NOISY})"] for n in ONE},
    **{
        f"numpy.{getattr(np, n).__name__}": [
            *(f"np.{n}(x, 2)", f"np.{n}(2.5, x)", f"np.{n}(x, x)", f"np.{n}(x, True)"),
            *(f"np.{n}(x, np.int8(3))", f"np.{n}(x, np.float32(1.5))", f"np.{n}(x, {NOISY})"),
        ]
        for n in TWO
    },
    "numpy.fabs": ["np.fabs(x)"],
    "numpy.fix": ["np.fix(x)"],
    "numpy.around": ["np.around(x)", "np.around(x, 1)"],
    "numpy.round": ["np.round(x)", "np.round(x, 2)", f"np.round({NOISY}, 2)"],
    "numpy.clip": [
        *("np.clip(x, 0, 1)", "np.clip(x, None, 1)", "np.clip(x, -1.5, None)"),
        *("np.clip(x, min=0, max=2)", "np.clip(x, 0, [1, 2, 3])"),
    ],
    "numpy.nan_to_num": ["np.nan_to_num(x)", "np.nan_to_num(x, nan=2.0, posinf=1.0)"],
    "numpy.where": ["np.where(x > 0, x, 0)", "np.where(x > 0, 1, 2.5)", "np.where(x, x, -x)"],
    "numpy.isclose": [f"np.isclose({NOISY}, 1.0)"],
    "numpy.copy": ["np.copy(x)"],
    "numpy.float64": ["np.float64(x.sum())"],
    "numpy.float32": ["np.float32(x.sum())"],
    "numpy.int64": ["np.int64(x.sum())", f"np.int64({NOISY})"],
    "numpy.int32": [f"np.int32({NOISY})"],
    "numpy.broadcast_to": [
        "np.broadcast_to(x.sum(), (2, 3))",
        "np.broadcast_to(x.sum(axis=0), (2, 3))",
    ],
    "numpy.reshape": ["np.reshape(x, (len(x), -1))", "np.reshape(x.sum(axis=0), (3, 1))"],
    "numpy.ravel": ["np.ravel(x.sum(axis=0))", "np.ravel(x[:, 0])"],
    "numpy.squeeze": ["np.squeeze(x[:, :1])", "np.squeeze(x[:, None])"],
    "numpy.expand_dims": ["np.expand_dims(x, 1)", "np.expand_dims(x, -1)"],
    "numpy.transpose": ["np.transpose(x)", "np.transpose(x, (1, 0))"],
    "numpy.swapaxes": ["np.swapaxes(x, 0, 1)"],
    "numpy.flip": ["np.flip(x, 1)", "np.flip(x.sum(axis=0))"],
    "numpy.flipud": ["np.flipud(x.sum(axis=0))"],
    "numpy.repeat": ["np.repeat(x.sum(axis=0), 2)"],
    "numpy.tile": ["np.tile(x.sum(axis=0), 2)"],
    "numpy.atleast_1d": ["np.atleast_1d(x)", "np.atleast_1d(x.sum())"],
    "numpy.atleast_2d": ["np.atleast_2d(x.sum(axis=0))"],
    "numpy.triu": ["np.triu(x.T @ x)"],
    "numpy.tril": ["np.tril(x.T @ x)"],
    "numpy.diag": ["np.diag(x.T @ x)", "np.diag(x.sum(axis=0))"],
    "numpy.diagonal": ["np.diagonal(x.T @ x)"],
    "numpy.trace": ["np.trace(x.T @ x)"],
    "numpy.array": ["np.array(x)", "np.array([x.sum(), x.max()])"],
    "numpy.asarray": ["np.asarray(x)"],
    "numpy.asanyarray": ["np.asanyarray(x)"],
    "numpy.ndim": ["np.ndim(x) * x"],
    "numpy.shape": ["np.shape(x)[0] * x"],
    "numpy.zeros": ["np.zeros(3) + x"],
    "numpy.ones": ["np.ones((2, 2))"],
    "numpy.full": ["np.full(3, 2.5) * x", "np.full(3, x.sum())"],
    "numpy.zeros_like": ["np.zeros_like(x)"],
    "numpy.ones_like": ["np.ones_like(x)", "np.ones_like(x, dtype=float)"],
    "numpy.full_like": ["np.full_like(x, 2)"],
    "dpcheck.program.lowering.clipping.clip_norm": [
        "dpcheck.clip_norm(x, 1.0)",
        "dpcheck.clip_norm(x, 2.0, order=1)",
    ],
}
METHODS = {
    "astype": ["x.astype(float)", "x.astype(np.int64)", "x.astype(np.uint8)", "x.astype(bool)"],
    "clip": ["x.clip(0, 1)"],
    "copy": ["x.copy()"],
    "round": ["x.round()", "x.round(1)"],
    "flatten": ["x.sum(axis=0).flatten()"],
    "ravel": ["x.sum(axis=0).ravel()"],
    "reshape": ["x.reshape(len(x), -1)", "x.reshape((-1, 3))"],
    "repeat": ["x.sum(axis=0).repeat(2)"],
    "squeeze": ["x[:, :1].squeeze()"],
    "swapaxes": ["x.swapaxes(0, 1)"],
    "transpose": ["x.transpose()", "x.T.transpose(1, 0)"],
    "diagonal": ["(x.T @ x).diagonal()"],
    "trace": ["(x.T @ x).trace()"],
    "item": [f"{NOISY}.item()", "x.sum().item()"],
    "tolist": ["(x.sum(axis=0) + rng.laplace(size=3)).tolist()"],
}
