"""Every error code has a cause and a cure, for `dpcheck explain CODE`."""

from __future__ import annotations

import dpcheck.core.errors  # noqa: F401 - the errors that are looked for
from dpcheck.cli.explain import error_kinds
from dpcheck.core.explained.remedies import REMEDIES


def test_every_code_has_a_cause_and_a_cure_and_nothing_else_does():
    assert set(REMEDIES) == set(error_kinds()), "add the code to dpcheck/core/explained/remedies.py"


def test_both_are_sentences_and_differ():
    texts = [text for pair in REMEDIES.values() for text in pair]
    assert all(text[0].isupper() or text[0] in "`d" for text in texts)
    assert all(text.endswith(".") for text in texts)
    assert len(set(texts)) == len(texts)
