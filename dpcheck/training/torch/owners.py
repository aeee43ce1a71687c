"""Which record an entry may depend on, found by running the operation itself on marked inputs.

**Lemma (NaN).** Sums, products and the smooth layers named in `products.SMOOTH` give NaN wherever an entry is NaN that
the result may depend on: no number times NaN is not NaN. So an output that stays finite while all entries of a set of
records are NaN depends on none of them. For b bits, mark the records whose number has the bit, then those whose
number has not: an output that only ever answers one of the two for every bit depends on one record, and
its bits say which.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from dpcheck.training.torch.facts import MIXED, PUBLIC


def public(shape: Any) -> Any:
    """Owners of something public."""
    return torch.full(tuple(shape), PUBLIC, dtype=torch.int16)


def combined(shape: Any, owners: Sequence[Any]) -> Any:
    """Owners of what is computed entry by entry."""
    found = None
    for each in owners:
        if each is None:
            continue
        other = each.expand(tuple(shape))
        if found is None:
            found = other
            continue
        clash = (found != other) & (found != PUBLIC) & (other != PUBLIC)
        found = torch.where(found == PUBLIC, other, found)
        found = torch.where(clash, MIXED, found)
    return None if found is None else found.clone()


def reduced(owner: Any, dims: Sequence[int], keep: bool) -> Any:
    """Owners of what is computed from all entries along these axes."""
    real = owner.clone()
    low = torch.where(real == PUBLIC, torch.iinfo(torch.int16).max, real)
    least, most = low, real
    mixed = real == MIXED
    for d in sorted((d % max(owner.dim(), 1) for d in dims), reverse=True):
        if owner.dim() == 0:
            break
        least = least.amin(d, keepdim=True)
        most = most.amax(d, keepdim=True)
        mixed = mixed.any(d, keepdim=True)
    found = torch.where((most == PUBLIC) | (least == most), most, MIXED)
    found = torch.where(mixed, MIXED, found)
    if not keep and owner.dim():
        for d in sorted({d % owner.dim() for d in dims}, reverse=True):
            found = found.squeeze(d)
    return found


def traced(run: Callable[[list[Any]], Any], owners: Sequence[Any], records: int) -> list[Any]:
    """Owners of the results of an operation, by the lemma; `owners` of its floating inputs, None if public."""
    bits = max(1, (records - 1).bit_length())
    one: list[Any] = []
    mixed: list[Any] = []
    for bit in range(bits):
        answers = []
        for side in (0, 1):
            marked: list[Any] = []
            for owner in owners:
                if owner is None:
                    marked.append(None)
                    continue
                hit = ((owner >= 0) & ((owner >> bit) & 1 == side)) | (owner == MIXED)
                marked.append(hit)
            out = run(marked)
            outs = list(out) if isinstance(out, (tuple, list)) else [out]
            answers.append([None if x is None else torch.isnan(x) for x in outs])
        for i, (low, high) in enumerate(zip(*answers, strict=True)):
            if low is None:
                if bit == 0:
                    one.append(None)
                    mixed.append(None)
                continue
            if bit == 0:
                one.append(torch.zeros(low.shape, dtype=torch.int16))
                mixed.append((torch.zeros_like(low), torch.zeros_like(low)))
            both, none = mixed[i]
            one[i] = one[i] + (high.to(torch.int16) << bit)
            mixed[i] = (both | (low & high), none | (low | high))
    found: list[Any] = []
    for value, flags in zip(one, mixed, strict=True):
        if value is None:
            found.append(None)
            continue
        both, touched = flags
        owner = torch.where(touched, value, PUBLIC)
        found.append(torch.where(both, MIXED, owner).to(torch.int16))
    return found


def filled(owner: Any) -> Any:
    """Public entries given to the record they stand beside, where one axis tells the records apart.

    To call something public private is always right; padding then moves with its record.
    """
    if owner.dim() == 0 or not bool((owner == PUBLIC).any()) or bool((owner == PUBLIC).all()):
        return owner
    for axis in range(owner.dim()):
        others = [d for d in range(owner.dim()) if d != axis]
        wide = reduced(owner, others, True) if others else owner
        if not bool((wide < 0).any()):
            return wide.expand(owner.shape).clone()
    return owner
