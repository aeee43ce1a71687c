"""Digests: a chain over the entries of a dataset, and a seal on every row that is read without them.

They reveal what changed by accident (a flipped bit, a lost row, a restored backup). They are no
signatures: whoever may write to the ledger can also compute digests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from typing import cast

from dpcheck.core.errors import LedgerBroken

FORMAT = "dpcheck ledger 3"
Fields = dict[str, object]
_WHOLE = 2**256


def written(fields: Fields) -> str:
    """Plain data as one line of text, always the same one."""
    return json.dumps(fields, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read(text: object, what: str) -> Fields:
    """The data that `written` wrote, or LedgerBroken."""
    try:
        found = json.loads(cast(str, text))
    except (ValueError, TypeError, RecursionError) as error:
        why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise LedgerBroken(_senseless(what, why)) from None
    if not isinstance(found, dict):
        raise LedgerBroken(_senseless(what, f"it is {type(found).__name__}, not an object"))
    return found


def _senseless(what: str, why: str) -> str:
    why = " ".join(why.split())
    return (
        f"{what} of the ledger makes no sense ({why[:160]}); restore it from a backup, or read it "
        "with the dpcheck that wrote it."
    )


def seal(*values: object) -> str:
    """What vouches for the values of a row; no row is written with a value that JSON does not know."""
    text = json.dumps(values, separators=(",", ":"), default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def start(dataset: str) -> str:
    """The digest before the first entry of a dataset."""
    return seal(FORMAT, dataset)


def following(digest: str, body: str) -> str:
    """The digest after one more entry."""
    return hashlib.sha256(digest.encode("ascii") + body.encode("ascii")).hexdigest()


def of_set(items: Iterable[tuple[object, ...]]) -> int:
    """One number for a set of rows, whatever their order; see `with_item`."""
    total = 0
    for item in items:
        total = with_item(total, *item)
    return total


def with_item(total: int, *item: object) -> int:
    """The number of a set with one more row."""
    return (total + int(seal(*item), 16)) % _WHOLE
