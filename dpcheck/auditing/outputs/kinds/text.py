"""Text and bytes: a category, its length, the numbers in it, its words; JSON is read as data."""

from __future__ import annotations

import json
import re

import numpy as np

from dpcheck.auditing.outputs.flat import Flat, digest, without_addresses
from dpcheck.auditing.outputs.registry import reads

NUMBER = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf|-inf|NaN|Infinity)\b")
_WORD = re.compile(r"[^\W\d_]{2,}")
_MOST_WORDS = 64
_LETTERS = 6


@reads(str)
def read_text(value: str, path: str, flat: Flat) -> None:
    """A text, whatever it says."""
    text = without_addresses(str(value))
    flat.token(path, text)
    flat.number(f"len({path})", float(len(text)))
    raw = text.encode("utf-8", "surrogatepass")
    letters = raw[:_LETTERS].ljust(_LETTERS, b"\0")
    flat.number(f"letters of {path}", float(int.from_bytes(letters, "big")))
    if text[:1] in ("{", "[") and _read_json(text, path, flat):
        return
    found = NUMBER.findall(text)
    if found:
        flat.block(f"numbers({path})", np.array([float(number) for number in found]))
        flat.token(f"around({path})", NUMBER.sub("#", text))
    words = list(dict.fromkeys(_WORD.findall(text)))
    if len(words) > 1:
        for word in words[:_MOST_WORDS]:
            flat.flag(f'"{word}" in {path}')


def _read_json(text: str, path: str, flat: Flat) -> bool:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError):
        return False
    flat.child(data, f"json.loads({path})")
    return True


@reads(bytes, bytearray, memoryview)
def read_bytes(value: bytes | bytearray | memoryview, path: str, flat: Flat) -> None:
    """Bytes: as text where they are text, else byte by byte and as an array of floats."""
    raw = bytes(value)
    flat.number(f"len({path})", float(len(raw)))
    flat.number(f"digest of {path}", digest(raw))
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        text = ""
    if text and text.isprintable():
        flat.child(text, f"{path}.decode()")
        return
    flat.block(path, np.frombuffer(raw, np.uint8))
    for kind in ("<f8", "<f4"):
        if raw and len(raw) % int(kind[-1]) == 0:
            floats = np.frombuffer(raw, kind).astype(float)
            if _plausible(floats):
                flat.block(f'np.frombuffer({path}, "{kind}")', floats)
                return


def _plausible(values: np.ndarray) -> bool:
    """Whether bytes read as floats look like numbers somebody computed."""
    if not np.isfinite(values).all():
        return False
    size = np.abs(values[values != 0])
    return not size.size or bool(size.max() < 1e30 and size.min() > 1e-30)
