"""Messages as bytes: a small typed format with one spelling per message, and framing with a digest.

A frame is

    "DPF1" | kind, 1 byte | session, 16 | sequence, 8 | length, 4 | payload | SHA-256 of all before

and the payload is the message's fields in order, each with a tag. Nothing is evaluated, no size is
believed before it is checked, and a decoded frame encodes to the same bytes again.
"""

from __future__ import annotations

import hashlib
import struct
from dataclasses import fields
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from dpcheck.core.errors import WireError
from dpcheck.mechanisms.federated.protocol.messages import KINDS, BigIntegers, Message

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MAGIC = b"DPF1"
HEADER = struct.Struct(">4sB16sQI")
DIGEST = 32
NO_SESSION = bytes(16)
DEFAULT_LIMIT = 256 * 2**20
R = TypeVar("R")

INT, TEXT, FLAG, FLOATS, WHOLE, PADDED, BIG = range(1, 8)
_ARRAYS = {FLOATS: "<f8", WHOLE: "<i8", PADDED: "<u8"}
# How a field is declared -> what may stand in it.
_ALLOWED = {
    "int": (INT,),
    "str": (TEXT,),
    "bool": (FLAG,),
    "NDArray[np.int64]": (WHOLE,),
    "NDArray[np.float64]": (FLOATS,),
    "Sealed": (FLOATS, PADDED, BIG),
}
_LONGEST_INT, _LONGEST_TEXT, _MOST_AXES = 4096, 2**16, 3


# --- fields --------------------------------------------------------------------------------------


def encode_fields(record: DataclassInstance) -> bytes:
    """The fields of a dataclass, in order; each must hold what it is declared to."""
    parts = []
    for item in fields(record):
        part = _encode(getattr(record, item.name))
        if part[0] not in _ALLOWED[str(item.type)]:
            raise WireError(f"{type(record).__name__}.{item.name} cannot hold such a value.")
        parts.append(part)
    return b"".join(parts)


def _encode(value: object) -> bytes:
    if isinstance(value, bool | np.bool_):
        return struct.pack(">BB", FLAG, int(value))
    if isinstance(value, int | np.integer):
        number = int(value)
        data = number.to_bytes(_int_length(number), "big", signed=True)
        return struct.pack(">BI", INT, len(data)) + data
    if isinstance(value, str):
        data = value.encode()
        return struct.pack(">BI", TEXT, len(data)) + data
    if isinstance(value, BigIntegers):
        owner = "ab".index(value.owner)
        head = struct.pack(">BBHI", BIG, owner, value.exponent, value.width)
        return head + _shape(value.shape) + value.data
    if isinstance(value, np.ndarray):
        for tag, kind in _ARRAYS.items():
            if value.dtype == np.dtype(kind):
                data = np.ascontiguousarray(value).astype(kind, copy=False).tobytes()
                return struct.pack(">B", tag) + _shape(value.shape) + data
    raise WireError(f"a {type(value).__name__} cannot be sent.")


def _int_length(number: int) -> int:
    return (number + (number < 0)).bit_length() // 8 + 1


def _shape(shape: tuple[int, ...]) -> bytes:
    return struct.pack(f">B{len(shape)}I", len(shape), *shape)


class _Reader:
    """Takes bytes off the front; asking for more than there are is an error."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) != size:
            raise WireError("a message ends too early.")
        self._at += size
        return part

    def unpack(self, layout: str) -> tuple[Any, ...]:
        return struct.unpack(layout, self.take(struct.calcsize(layout)))

    def left(self) -> int:
        return len(self._data) - self._at

    def shape(self, item_size: int) -> tuple[tuple[int, ...], bytes]:
        """A shape and the bytes of so many items."""
        (axes,) = self.unpack(">B")
        if axes > _MOST_AXES:
            raise WireError(f"an array of {axes} axes is none of the protocol.")
        shape = self.unpack(f">{axes}I")
        size = item_size
        for length in shape:
            size *= length
        if size > self.left():
            raise WireError("an array claims more numbers than were sent.")
        return shape, self.take(size)


def decode_fields(kind: type[R], data: bytes) -> R:
    """A dataclass from its encoded fields; every byte must be used."""
    reader = _Reader(data)
    values = []
    for item in fields(kind):  # type: ignore[arg-type]
        (tag,) = reader.unpack(">B")
        if tag not in _ALLOWED[str(item.type)]:
            raise WireError(f"{kind.__name__}.{item.name} holds another kind of value than is due.")
        values.append(_decode(tag, reader))
    if reader.left():
        raise WireError(f"{reader.left()} bytes follow the end of a message.")
    return kind(*values)


def _decode(tag: int, reader: _Reader) -> object:
    if tag == FLAG:
        (flag,) = reader.unpack(">B")
        if flag > 1:
            raise WireError("a yes or no is neither.")
        return bool(flag)
    if tag in (INT, TEXT):
        (size,) = reader.unpack(">I")
        if size > (_LONGEST_INT if tag == INT else _LONGEST_TEXT):
            raise WireError("a number or a word is longer than any of the protocol.")
        return _decode_int(reader.take(size)) if tag == INT else _decode_text(reader.take(size))
    if tag == BIG:
        return _decode_big(reader)
    kind = np.dtype(_ARRAYS[tag])
    shape, data = reader.shape(kind.itemsize)
    array = np.frombuffer(data, dtype=kind).reshape(shape)  # read-only, as the bytes are
    if tag == FLOATS and not np.isfinite(array).all():
        raise WireError("an array holds NaN or infinity.")
    return array


def _decode_int(data: bytes) -> int:
    number = int.from_bytes(data, "big", signed=True)
    if len(data) != _int_length(number):
        raise WireError("a number is not in its shortest spelling.")
    return number


def _decode_text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise WireError("a word is not UTF-8.") from None


def _decode_big(reader: _Reader) -> BigIntegers:
    owner, exponent, width = reader.unpack(">BHI")
    if owner > 1 or not 1 <= width <= _LONGEST_INT:
        raise WireError("an array of integers has no such owner or width.")
    shape, data = reader.shape(width)
    return BigIntegers("a" if owner == 0 else "b", shape, exponent, width, data)


# --- frames --------------------------------------------------------------------------------------


class Framer:
    """One direction of one connection: numbers the frames it writes, or checks those it reads."""

    def __init__(self, session: bytes = NO_SESSION, limit: int = DEFAULT_LIMIT) -> None:
        self.session, self.limit, self._next = session, limit, 0

    def encode(self, message: Message) -> bytes:
        """The next frame."""
        payload = encode_fields(message)
        if len(payload) > self.limit:
            raise WireError(
                f"a {type(message).__name__} of {len(payload):,} bytes is above the limit of "
                f"{self.limit:,}; raise the limit on both sides, or use fewer rows or hidden units."
            )
        head = HEADER.pack(MAGIC, message.number, self.session, self._next, len(payload))
        self._next += 1
        return head + payload + hashlib.sha256(head + payload).digest()

    def payload_size(self, head: bytes) -> int:
        """How many bytes follow this header, digest aside; refuses what is not the next frame."""
        magic, kind, session, sequence, size = HEADER.unpack(head)
        if magic != MAGIC or kind not in KINDS:
            raise WireError("what came is no message of this protocol.")
        if size > self.limit:
            raise WireError(
                f"the other party announces a message of {size:,} bytes, above the limit of "
                f"{self.limit:,}."
            )
        if session != self.session:
            raise WireError("a message of another connection came: it was replayed or misdirected.")
        if sequence != self._next:
            raise WireError(
                f"message {sequence} came where {self._next} is due: it was replayed, lost or "
                "reordered."
            )
        return int(size)

    def decode(self, frame: bytes) -> Message:
        """The message in the next frame."""
        if len(frame) < HEADER.size + DIGEST:
            raise WireError("a message ends too early.")
        size = self.payload_size(frame[: HEADER.size])
        if len(frame) != HEADER.size + size + DIGEST:
            raise WireError("a message is not as long as it says.")
        body = frame[:-DIGEST]
        if hashlib.sha256(body).digest() != frame[-DIGEST:]:
            raise WireError("a message was changed on the way: its digest does not fit.")
        message = decode_fields(KINDS[frame[4]], body[HEADER.size :])
        self._next += 1
        return message


def session_name(settings: str, nonce_a: int, nonce_b: int) -> bytes:
    """What the frames of one connection are marked with; both parties contribute."""
    return hashlib.sha256(f"{nonce_a} {nonce_b} {settings}".encode()).digest()[:16]
