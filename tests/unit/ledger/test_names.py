"""Names that a reader takes for each other are one dataset, not two budgets."""

import pytest

from dpcheck import Budget, Ledger, PureDP
from dpcheck.core.errors import InvalidParameter, LedgerMisuse


@pytest.mark.parametrize(
    "name",
    [
        "patients ",
        " patients",
        "patients\u200b",
        "pat\u2060ients",
        "\ufeffpatients",
        "patients\u00a0",
    ],
)
def test_what_cannot_be_seen_is_refused_with_a_question(name):
    ledger = Ledger(Budget(1.0), "add-remove")
    with pytest.raises(InvalidParameter, match=r"Do you mean 'patients'\?") as caught:
        ledger.dataset(name)
    assert str(caught.value).isascii()


@pytest.mark.parametrize(
    "name",
    [
        "p\u0430tients",  # Cyrillic a
        "pati\u0435nts",
        "\uff50atients",  # full width
        "patien\u1d57s",  # a small raised t
        "\u0440\u0430tients",
    ],
)
def test_a_name_that_looks_like_another_is_refused_with_a_question(place, name):
    with Ledger.open(place, Budget(1.0), "add-remove") as ledger:
        ledger.spend(ledger.dataset("patients"), PureDP(1.0))
        with pytest.raises(LedgerMisuse, match=r"'patients'.*is it that one\?"):
            ledger.dataset(name)
    with Ledger.open(place) as ledger, pytest.raises(LedgerMisuse, match="looks like"):
        ledger.dataset(name)


def test_names_of_other_languages_and_cases_are_names():
    ledger = Ledger(Budget(1.0), "add-remove")
    for name in ("患者", "пациенты", "ασθενείς", "patients", "Patients", "patients 2", "🧑‍⚕️"):
        ledger.dataset(name)
    with pytest.raises(LedgerMisuse, match="looks like"):
        ledger.dataset("\u0420atients")  # Cyrillic R, drawn like P
