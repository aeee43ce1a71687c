"""Programs written by hand, each node with what numpy computes for it, and neighbours to try them on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from dpcheck.verify.program import check
from dpcheck.verify.program.steps import Steps

COUNT = 5
ADJACENCIES = ("replace-one", "add-remove", "zero-out")
Compute = Callable[..., Any]


@dataclass
class Side:
    """One dataset: its tables by node, and which of all records it has."""

    tables: dict[int, np.ndarray]
    records: np.ndarray


@dataclass
class Build:
    """A program in the making."""

    nodes: list[dict[str, Any]] = field(default_factory=list)
    compute: dict[int, Compute] = field(default_factory=dict)

    def add(
        self,
        primitive: str,
        args: list[int],
        shape: list[Any],
        compute: Compute,
        dtype: str = "float64",
        **params: Any,
    ) -> int:
        """A node; a length "n" is that of the data, ("n", i) that of the records that node i chose."""
        found = len(self.nodes)
        dims = [
            {"rows": -1} if n == "n" else {"rows": n[1]} if isinstance(n, tuple) else n
            for n in shape
        ]
        self.nodes.append(
            {
                "id": found,
                "primitive": primitive,
                "args": args,
                "params": params,
                "shape": dims,
                "dtype": dtype,
            }
        )
        self.compute[found] = compute
        return found

    def data(
        self,
        low: Any = -3.0,
        high: Any = 2.0,
        rest: tuple[int, ...] = (),
        dtype: str = "float64",
        nan: bool = False,
    ) -> int:
        """Private rows within a box that holds 0."""
        return self.add(
            "data",
            [],
            ["n", *rest],
            lambda: None,
            dtype,
            source="x",
            low=low,
            high=high,
            missing=nan,
        )

    def constant(self, value: Any) -> int:
        """A public value."""
        array = np.asarray(value)
        listed = array.ravel().tolist()
        listed = [int(each) if isinstance(each, bool) else each for each in listed]
        kept = listed[0] if not array.ndim else listed
        return self.add(
            "constant", [], list(array.shape), lambda: array, str(array.dtype), value=kept
        )

    def coins(self, rate: float = 0.5) -> int:
        """A coin for each record."""
        return self.add("draw", [], ["n"], lambda: None, "int64", law="coin", scale=rate)

    def over_entries(
        self, name: str, *args: int, dtype: str = "float64", shape: list[Any] | None = None
    ) -> int:
        """A function of entries."""
        most = max((self.nodes[i]["shape"] for i in args), key=len)
        dims = shape if shape is not None else ["n" if isinstance(n, dict) else n for n in most]
        return self.add(name, list(args), dims, getattr(np, name), dtype)

    def total(self, a: int, axes: tuple[int, ...] = (0,), dtype: str = "float64") -> int:
        """A sum."""
        shape = [
            "n" if isinstance(n, dict) else n
            for i, n in enumerate(self.nodes[a]["shape"])
            if i not in axes
        ]
        return self.add("sum", [a], shape, lambda v: v.sum(axis=axes), dtype, axes=list(axes))

    def program(self, adjacency: str, outputs: list[int] | None = None) -> dict[str, Any]:
        """As a certificate has it."""
        return {
            "adjacency": adjacency,
            "rows": None if adjacency == "add-remove" else COUNT,
            "rows_per_person": 1,
            "nodes": self.nodes,
            "outputs": outputs or [],
        }

    def facts(self, adjacency: str) -> Steps:
        """What the kernel finds of every node."""
        return check.run(self.program(adjacency), lambda node, fact: fact)

    # Values -------------------------------------------------------------------------------------

    def pairs(
        self, adjacency: str, rng: np.random.Generator, many: int
    ) -> Iterator[tuple[dict[int, Any], dict[int, Any]]]:
        """Values of every node on neighbours, the coins of a record the same on both sides."""
        for _ in range(many):
            tables = {n["id"]: self._table(n, rng) for n in self.nodes if n["primitive"] == "data"}
            coins = {
                n["id"]: rng.random(COUNT + 1) < n["params"]["scale"]
                for n in self.nodes
                if n["primitive"] == "draw"
            }
            records, changed = np.arange(COUNT), int(rng.integers(COUNT))
            one = self._values(tables, records, coins)
            if adjacency == "add-remove":
                yield one, self._values(tables, np.delete(records, changed), coins)
                continue
            other = {}
            for key, table in tables.items():
                other[key] = table.copy()
                other[key][changed] = table[COUNT] if adjacency == "replace-one" else 0
            yield one, self._values(other, records, coins)

    def _table(self, node: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
        params, rest = node["params"], tuple(node["shape"][1:])
        low, high = (
            np.broadcast_to(
                np.asarray(params[e], dtype=float).reshape(
                    rest if isinstance(params[e], list) else ()
                ),
                rest,
            )
            for e in ("low", "high")
        )
        shape = (COUNT + 1, *rest)
        found = rng.uniform(low, high, shape)
        edge = rng.random(shape)
        found = np.where(
            edge < 0.3,
            low,
            np.where(edge < 0.6, high, np.where(edge < 0.7, np.clip(0.0, low, high), found)),
        )
        if params["missing"]:
            found = np.where(rng.random(shape) < 0.2, np.nan, found)
        return (
            np.rint(found).astype(node["dtype"])
            if node["dtype"].startswith(("int", "uint"))
            else found.astype(node["dtype"])
        )

    def _values(
        self, tables: dict[int, np.ndarray], records: np.ndarray, coins: dict[int, np.ndarray]
    ) -> dict[int, Any]:
        values: dict[int, Any] = {}
        with np.errstate(all="ignore"):
            for node in self.nodes:
                key = node["id"]
                if key in tables:
                    values[key] = tables[key][records]
                elif key in coins:
                    values[key] = coins[key][records].astype(int)
                else:
                    values[key] = np.asarray(self.compute[key](*(values[i] for i in node["args"])))
        return values
