"""Federated transfer learning under encryption: what an iteration costs, and what it sends.

    python benchmarks/mechanisms/ftl_scaling.py speed      # our encryption beside one `phe` call per number
    python benchmarks/mechanisms/ftl_scaling.py hidden     # [Liu2018] Figure 4, and bytes against its (13):
    python benchmarks/mechanisms/ftl_scaling.py features   # one factor at a time
    python benchmarks/mechanisms/ftl_scaling.py common

Prints markdown. Times of iterations are processor seconds of both parties together, on one core, so
that they do not depend on what else the machine does; speed-ups are ratios of interleaved runs.
"""

from __future__ import annotations

import argparse
import datetime
import os
import platform
import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import phe

from dpcheck.mechanisms import ftl
from dpcheck.mechanisms.federated.crypto import paillier
from dpcheck.mechanisms.federated.crypto.encrypted_array import Encoding, EncryptedArray, Ring
from dpcheck.mechanisms.federated.crypto.randomness import Randomness
from dpcheck.mechanisms.federated.protocol.link import BytesLink
from dpcheck.mechanisms.federated.protocol.local import converse
from dpcheck.mechanisms.federated.protocol.messages import BigIntegers, Message

REPEATS = 3


def header(seed: int) -> None:
    today = datetime.datetime.now(datetime.UTC).date().isoformat()
    cores = os.cpu_count()
    print(
        f"{today}, {platform.machine()}, {cores} cores, Python {platform.python_version()}, ",
        end="",
    )
    print(f"seed {seed}.\n")


# --- speed-up over phe ---------------------------------------------------------------------------


def elapsed(action: Callable[[], object]) -> tuple[float, float]:
    """Processor and wall seconds."""
    start = time.process_time(), time.perf_counter()
    action()
    return time.process_time() - start[0], time.perf_counter() - start[1]


def speed(seed: int) -> None:
    """Median times of interleaved runs, per number, and their ratios."""
    print("| key | operation | phe, one call per number | ours | processor time | wall, 2 jobs |")
    print("|---|---|---|---|---|---|")
    for bits, size in ((1024, 800), (2048, 200)):
        speed_of_key(bits, size, np.random.default_rng(seed))


def speed_of_key(bits: int, size: int, rng: np.random.Generator) -> None:
    key = paillier.generate_key(bits)
    public = phe.PaillierPublicKey(int(key.public.n))
    private = phe.PaillierPrivateKey(public, int(key.p), int(key.q))
    values, plain = rng.normal(size=size).tolist(), rng.normal(size=(40, size))
    numbers = Encoding().encode(np.array(values), 40)
    theirs = [public.encrypt(v) for v in values]
    ciphertexts = paillier.encrypt(key.public, numbers, Randomness(key).take(size))
    column = np.empty((size, 1), dtype=object)
    column[:, 0] = ciphertexts

    def encrypt(jobs: int) -> None:
        paillier.encrypt(key.public, numbers, Randomness(key, jobs).take(size))

    def multiply_and_add(jobs: int) -> object:
        ring = Ring(key.public, Encoding(), jobs)
        return plain @ EncryptedArray(ring, column, 40, 2**72)

    cases: tuple[tuple[str, Callable[[], object], int, Callable[[int], object], int], ...] = (
        ("encrypt", lambda: [public.encrypt(v) for v in values], size, encrypt, size),
        (
            "decrypt",
            lambda: [private.decrypt(c) for c in theirs],
            size,
            lambda jobs: paillier.decrypt(key, ciphertexts, jobs),
            size,
        ),
        (
            "multiply and add",
            lambda: [
                sum(c * w for c, w in zip(theirs, row, strict=True)) for row in plain[:2].tolist()
            ],
            2 * size,
            multiply_and_add,
            plain.size,
        ),
    )
    for name, peer, their_size, ours, our_size in cases:
        ours(2)  # starts the processes
        runs = []
        for _ in range(REPEATS):
            base, base_wall = (t / their_size for t in elapsed(peer))
            one = elapsed(partial(ours, 1))[0] / our_size
            two_wall = elapsed(partial(ours, 2))[1] / our_size
            runs.append((base, one, base / one, base_wall / two_wall))
        base, one, first, second = (statistics.median(c) for c in zip(*runs, strict=True))
        print(
            f"| {bits} | {name} | {base * 1e6:,.0f} us | {one * 1e6:,.0f} us | {first:.1f}x "
            f"| {second:.1f}x |",
            flush=True,
        )


# --- an iteration --------------------------------------------------------------------------------


class Counted(BytesLink):
    """Counts bytes of ciphertexts and of frames."""

    ciphertext_bytes = 0

    def send(self, message: Message) -> None:
        """Send and count."""
        super().send(message)
        for name in message.__slots__:
            value = getattr(message, name)
            if isinstance(value, BigIntegers) and type(message).__name__.startswith("Components"):
                self.ciphertext_bytes += len(value.data)


def iteration(
    hidden: int, features: int, common: int, bits: int, seed: int
) -> tuple[float, int, int]:
    """Processor seconds of one iteration of both parties; B's ciphertext and frame bytes to A."""
    rng = np.random.default_rng(seed)
    rows = common + 20
    data = ftl.Federation(
        rng.normal(size=(rows, 10)),
        rng.choice([-1.0, 1.0], size=rows),
        rng.normal(size=(rows, features)),
        np.arange(common),
        np.arange(common),
    )
    model = ftl.FederatedTransfer(
        hidden=(hidden,), iterations=1, transport="in-process", key_bits=bits
    )
    a, b = model.parties(data, rng)
    links = Counted.pair()
    marks: list[float] = []

    def of_a():
        yield from a.meet()
        marks.append(time.process_time())
        yield from a.train(a.whole_task("train", data.common_b), data.common_b)
        marks.append(time.process_time())
        yield from a.finish()

    def of_b():
        yield from b.meet()
        yield from b.serve()

    converse(of_a(), of_b(), links)
    return marks[1] - marks[0], links[1].ciphertext_bytes, links[1].sent


CENTRE = {"hidden": 8, "features": 20, "common": 20}
TITLES = {"hidden": "hidden dimension d", "features": "features of B", "common": "common rows n"}
STEPS = {"hidden": (4, 8, 16, 32), "features": (10, 20, 40, 80), "common": (10, 20, 40, 80)}


def scaling(name: str, seed: int, bits: int) -> None:
    """One panel of Figure 4, around d = 8, 20 features of B, 20 common rows, all labelled."""
    width = 2 * bits // 8
    print(
        f"| {TITLES[name]} | seconds | ciphertext bytes B to A | (13) | ratio | all bytes B to A |"
    )
    print("|---|---|---|---|---|---|")
    for value in STEPS[name]:
        point = {**CENTRE, name: value}
        seconds, sent, frames = iteration(**point, bits=bits, seed=seed)
        d, n = point["hidden"], point["common"]
        formula = n * (d * d + d) * width  # (13)
        print(
            f"| {value} | {seconds:.2f} | {sent:,} | {formula:,} | {sent / formula:.3f} "
            f"| {frames:,} |",
            flush=True,
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("part", choices=("speed", *STEPS))
    parser.add_argument("--bits", type=int, default=1024)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    header(chosen.seed)
    if chosen.part == "speed":
        speed(chosen.seed)
    else:
        scaling(chosen.part, chosen.seed, chosen.bits)
