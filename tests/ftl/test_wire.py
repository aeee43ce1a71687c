"""The wire format: every message comes back, and nothing else is accepted."""

import hashlib
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpcheck.core.errors import DpcheckError, WireError
from dpcheck.mechanisms.federated.protocol import messages
from dpcheck.mechanisms.federated.protocol.messages import KINDS, BigIntegers
from dpcheck.mechanisms.federated.protocol.wire import (
    HEADER,
    NO_SESSION,
    Framer,
    encode_fields,
    session_name,
)

SESSION = session_name("settings", 1, 2)


def big(shape=(2, 3), width=5, owner="a", seed=0):
    size = int(np.prod(shape)) * width
    return BigIntegers(owner, shape, 80, width, random.Random(seed).randbytes(size))


def examples():
    rows = np.arange(3, dtype=np.int64)
    return [
        messages.Hello("a", '{"rate":0.5}', 2**127 + 3),
        messages.PublicKey("b", 2**1023 + 17),
        messages.TrainRequest("train", "transfer", rows, rows[:0], rows),
        messages.Ready("train", 4, 99),
        messages.Decision(4, True),
        messages.ComponentsA(1, big((2, 3, 3)), big(), big((0, 3))),
        messages.ComponentsB(1, big((2, 2, 2)), big(), big(), big(())),
        messages.MaskedGradientA(2, big((4,)), big(())),
        messages.MaskedGradientB(2, big((4,), 7, "b")),
        messages.OpenedGradientA(2, np.arange(4, dtype=np.uint64), np.array(0.5)),
        messages.OpenedGradientB(2, big((1,))),
        messages.PredictRequest("train", "a", rows),
        messages.HiddenRows(np.array([[0.5, -0.0], [1e-300, 3.0]])),
        messages.MaskedScores(big()),
        messages.OpenedScores(big()),
        messages.Labels(np.array([1, -1, 1])),
        messages.Finish(),
        messages.Abort("DPC605"),
    ]


def test_there_is_an_example_of_every_kind():
    assert {type(m) for m in examples()} == set(KINDS.values())


def test_every_message_comes_back():
    out, back = Framer(SESSION), Framer(SESSION)
    for message in examples():
        again = back.decode(out.encode(message))
        assert type(again) is type(message)
        assert encode_fields(again) == encode_fields(message)
        for name in message.__slots__:
            ours, theirs = getattr(message, name), getattr(again, name)
            if isinstance(ours, np.ndarray):
                assert theirs.dtype == ours.dtype
                np.testing.assert_array_equal(theirs, ours)
                assert not theirs.flags.writeable
            else:
                assert theirs == ours


@settings(max_examples=100, deadline=None)
@given(st.integers(-(2**2000), 2**2000), st.text(max_size=40))
def test_numbers_and_words_come_back(number, text):
    message = Framer().decode(Framer().encode(messages.Hello(text, text[::-1], number)))
    assert (message.party, message.settings, message.nonce) == (text, text[::-1], number)


# --- what is refused -----------------------------------------------------------------------------


def test_replayed_lost_reordered_and_foreign_frames_are_refused():
    out = Framer(SESSION)
    first, second = (out.encode(messages.Decision(i, False)) for i in range(2))
    back = Framer(SESSION)
    with pytest.raises(WireError, match="message 1 came where 0 is due"):
        back.decode(second)
    back.decode(first)
    with pytest.raises(WireError, match="message 0 came where 1 is due"):
        back.decode(first)
    back.decode(second)
    with pytest.raises(WireError, match="another connection"):
        Framer(session_name("settings", 1, 3)).decode(first)
    with pytest.raises(WireError, match="another connection"):
        Framer(NO_SESSION).decode(first)


def test_oversized_messages_are_refused_on_both_sides_before_they_are_read():
    message = messages.MaskedScores(big((100,), 10))
    with pytest.raises(WireError, match="above the limit of 1,000"):
        Framer(SESSION, limit=1000).encode(message)
    frame = Framer(SESSION).encode(message)
    with pytest.raises(WireError, match=r"announces a message of 1,0\d\d bytes"):
        Framer(SESSION, limit=1000).payload_size(frame[: HEADER.size])
    huge = HEADER.pack(b"DPF1", 5, SESSION, 0, 2**32 - 1)
    with pytest.raises(WireError, match="4,294,967,295"):
        Framer(SESSION).payload_size(huge)


def test_an_array_cannot_claim_more_than_was_sent():
    claim = bytes([7, 0]) + (80).to_bytes(2, "big") + (4096).to_bytes(4, "big")
    claim += bytes([3]) + b"\xff\xff\xff\xff" * 3
    with pytest.raises(WireError, match="claims more numbers"):
        Framer(SESSION).decode(signed(14, claim))


def signed(kind, payload):
    """A frame with a digest that fits: what a party that means harm would send."""
    head = HEADER.pack(b"DPF1", kind, SESSION, 0, len(payload))
    return head + payload + hashlib.sha256(head + payload).digest()


@pytest.mark.parametrize(
    ("payload", "words"),
    [
        (bytes([1, 0, 0, 0, 2, 0, 5, 3, 1]), "shortest"),
        (bytes([1, 0, 0, 0, 1, 5, 3, 2]), "neither"),
        (bytes([2, 0, 0, 0, 1, 65, 3, 1]), "another kind of value"),
        (bytes([1, 0, 0, 0, 1, 5, 3, 1, 0]), "bytes follow"),
        (bytes([1, 0, 0, 0, 9, 5]), "ends too early"),
        (bytes([1, 0, 0, 255, 255, 5]), "longer than any"),
    ],
)
def test_other_spellings_are_refused(payload, words):
    good = signed(5, bytes([1, 0, 0, 0, 1, 5, 3, 1]))
    message = Framer(SESSION).decode(good)
    assert (message.iteration, message.stop) == (5, True)
    with pytest.raises(WireError, match=words):
        Framer(SESSION).decode(signed(5, payload))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_no_float_but_numbers_is_accepted(value):
    payload = encode_fields(messages.HiddenRows(np.array([1.0, value])))
    with pytest.raises(WireError, match="NaN or infinity"):
        Framer(SESSION).decode(signed(13, payload))


# --- fuzz ----------------------------------------------------------------------------------------


def mutate(rng, frame, others):
    """One of: bit flips, random bytes, cut, insertion, deletion, a piece of another frame."""
    data = bytearray(frame)
    kind = rng.randrange(7)
    at = rng.randrange(len(data))
    if kind == 0:
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        data[at : at + 4] = rng.randbytes(len(data[at : at + 4]))
    elif kind == 2:
        del data[at:]
    elif kind == 3:
        data[at:at] = rng.randbytes(rng.randint(1, 9))
    elif kind == 4:
        del data[at : at + rng.randint(1, 9)]
    elif kind == 5:
        other = rng.choice(others)
        data[at:] = other[at:]
    else:
        data[at : at + 4] = rng.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"])
    return bytes(data)


def test_ten_thousand_mutated_frames():
    """Whatever happens to a frame on the way, it is the same frame, or it is refused."""
    rng = random.Random(7)
    frames = [Framer(SESSION).encode(m) for m in examples()]
    refused = 0
    for _ in range(10_000):
        frame = rng.choice(frames)
        changed = mutate(rng, frame, frames)
        try:
            message = Framer(SESSION, limit=10_000).decode(changed)
        except WireError:
            refused += 1
        else:
            # A splice may yield a whole frame that was really sent; nothing else may pass.
            assert changed in frames
            assert Framer(SESSION).encode(message) == changed
    assert refused > 9_000


def test_ten_thousand_mutated_payloads_with_a_fitting_digest():
    """A party that means harm can make frames; they are refused, or mean just what they spell."""
    rng = random.Random(8)
    payloads = [(m.number, encode_fields(m)) for m in examples()]
    others = [payload + b"\0" for _, payload in payloads]
    accepted = refused = 0
    for _ in range(10_000):
        kind, payload = rng.choice(payloads)
        frame = signed(kind, mutate(rng, payload + b"\0", others)[:-1])
        try:
            message = Framer(SESSION, limit=10_000).decode(frame)
        except WireError:
            refused += 1
        else:
            assert Framer(SESSION).encode(message) == frame
            accepted += 1
    assert refused > 1_000
    assert accepted > 1_000  # numbers inside arrays may change; the key's bound catches those


def test_wire_errors_are_dpcheck_errors():
    assert issubclass(WireError, DpcheckError)
    with pytest.raises(DpcheckError) as caught:
        Framer().decode(b"GET / HTTP/1.1\r\n\r\n" + bytes(60))
    assert caught.value.code == "DPC601"
