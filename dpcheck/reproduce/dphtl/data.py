"""The texts DPHTL is evaluated on: newsgroup and review domains as sparse tf-idf rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer

from dpcheck.core.errors import UsageError
from dpcheck.mechanisms.output.rows import Rows
from dpcheck.reproduce.stacking.data import load_posts

Floats = NDArray[np.float64]

# [Wang2018] Table 1: one computer-related group against two others in each source.
NEWS_DOMAINS = (
    ("comp.graphics", "rec.autos", "sci.space"),
    ("comp.os.ms-windows.misc", "talk.politics.guns", "sci.med"),
    ("comp.sys.ibm.pc.hardware", "soc.religion.christian", "talk.politics.mideast"),
    ("comp.sys.mac.hardware", "misc.forsale", "rec.sport.baseball"),
    ("comp.windows.x", "talk.religion.misc", "sci.crypt"),
)
REVIEW_DOMAINS = ("books", "dvd", "kitchen", "electronics")


@dataclass(frozen=True, slots=True, eq=False)
class Domain:
    """The rows of one source domain and their labels in {-1, +1}."""

    X: Rows
    y: Floats


@dataclass(frozen=True, slots=True)
class Sizes:
    """Rows of every set: of each source, of the target, of its test set and of the public data."""

    unlabelled: int
    labelled: int
    public: int
    target: int
    test: int


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One random draw of all datasets of an experiment."""

    sources: list[tuple[Rows, Floats, Rows]]  # X, y, unlabelled
    public: Rows
    target: tuple[Rows, Floats]
    test: tuple[Rows, Floats]


def load_news(data_dir: Path | None) -> list[Domain]:
    """Posts without quotes and footers; the union of the sources' vocabularies, tf-idf, norm 1."""
    if data_dir is None:
        raise UsageError("the posts are not bundled with any package; give --data-dir.")
    posts = load_posts(data_dir)
    texts = np.array([_body(text) for text in posts.texts], dtype=object)
    mine = [np.flatnonzero(np.isin(posts.groups, groups)) for groups in NEWS_DOMAINS]
    words: set[str] = set()
    for rows in mine:
        counter = CountVectorizer(stop_words="english", max_df=0.5, min_df=0.005)
        words |= set(counter.fit(texts[rows]).vocabulary_)
    vectorizer = TfidfVectorizer(vocabulary=sorted(words)).fit(texts[np.concatenate(mine)])
    return [
        Domain(
            vectorizer.transform(texts[rows]).tocsr(),
            np.where([group.startswith("comp.") for group in posts.groups[rows]], 1.0, -1.0),
        )
        for rows in mine
    ]


def _body(text: str) -> str:
    """Without quotes and signature, as the paper and scikit-learn's loader remove them."""
    from sklearn.datasets import _twenty_newsgroups as loader

    return str(loader.strip_newsgroup_footer(loader.strip_newsgroup_quoting(text)))


def load_reviews(data_dir: Path | None) -> list[Domain]:
    """Review counts; the union of each domain's 1,500 most frequent terms, tf-idf, rows of norm 1."""
    if data_dir is None:
        raise UsageError("the reviews are not bundled with any package; give --data-dir.")
    counts = [review_counts(data_dir, name) for name in REVIEW_DOMAINS]
    kept: set[int] = set()
    for X, _ in counts:
        kept |= set(np.argsort(-np.asarray(X.sum(axis=0)).ravel(), kind="stable")[:1500].tolist())
    columns = np.array(sorted(kept))
    scaler = TfidfTransformer().fit(sparse.vstack([X[:, columns] for X, _ in counts]))
    return [Domain(scaler.transform(X[:, columns]).tocsr(), y) for X, y in counts]


def review_counts(
    data_dir: Path, domain: str, splits: Sequence[str] = ("train", "test")
) -> tuple[Rows, Floats]:
    """Counts of 5,000 terms and labels in {-1, +1} of a review domain."""
    path = data_dir / "amazon_reviews" / "amazon_bow5000.npz"
    if not path.is_file():
        raise UsageError(f"{path} is missing; --data-dir must hold amazon_reviews.")
    blocks, labels = [], []
    with np.load(path, allow_pickle=False) as z:
        for split in splits:
            p = f"{domain}_{split}_"
            y = z[p + "y"]
            pieces = (z[p + "data"].astype(float), z[p + "indices"].astype("i4"), z[p + "indptr"])
            blocks.append(sparse.csr_matrix(pieces, shape=(len(y), 5000)))
            labels.append(np.where(y == 1, 1.0, -1.0))
    return sparse.vstack(blocks, format="csr"), np.concatenate(labels)


def draw(
    domains: Sequence[Domain], mixture: Sequence[float], sizes: Sizes, rng: np.random.Generator
) -> Draw:
    """All datasets without replacement: nobody is in two of them."""
    sources, public, target, test = [], [], [], []
    for domain, share in zip(domains, mixture, strict=True):
        order = rng.permutation(domain.X.shape[0])
        wanted = [
            sizes.unlabelled,
            sizes.labelled,
            sizes.public // len(domains),
            round(share * sizes.target),
            round(share * sizes.test),
        ]
        if sum(wanted) > len(order):
            raise UsageError(f"a domain has {len(order)} rows where {sum(wanted)} are needed.")
        a, b, c, d, e = np.split(order[: sum(wanted)], np.cumsum(wanted)[:-1])
        sources.append((domain.X[b], domain.y[b], domain.X[a]))
        public.append(domain.X[c])
        target.append((domain.X[d], domain.y[d]))
        test.append((domain.X[e], domain.y[e]))
    return Draw(
        sources, sparse.vstack(public, format="csr"), _mixed(target, rng), _mixed(test, rng)
    )


def _mixed(parts: list[tuple[Rows, Floats]], rng: np.random.Generator) -> tuple[Rows, Floats]:
    X = sparse.vstack([x for x, _ in parts], format="csr")
    order = rng.permutation(X.shape[0])
    return X[order], np.concatenate([y for _, y in parts])[order]
