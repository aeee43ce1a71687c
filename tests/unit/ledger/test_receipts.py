"""A spend under an id: reserved once, released once, whatever is asked how often."""

import pytest

from dpcheck import Budget, BudgetExceeded, Ledger, PureDP
from dpcheck.core.errors import AlreadyReleased, InvalidParameter, LedgerMisuse


@pytest.fixture(params=["memory", "sqlite", "postgresql"])
def opened(request, tmp_path):
    """A function that gives a handle on one ledger of (1.0, 0)."""
    if request.param == "memory":
        one = Ledger(Budget(1.0), "add-remove")
        return lambda: one
    place = str(tmp_path / "privacy.ledger")
    if request.param == "postgresql":
        place = request.getfixturevalue("postgresql").database()
    Ledger.open(place, Budget(1.0), "add-remove").close()
    return lambda: Ledger.open(place)


def test_a_lost_answer_is_charged_once_and_released_once(opened):
    first, second = opened(), opened()
    mine = first.spend(first.dataset("d"), PureDP(0.5), request_id="query 17")
    again = second.spend(second.dataset("d"), PureDP(0.5), request_id="query 17")
    assert first.epsilon().upper == 0.5
    assert not mine.released
    again.release()
    assert mine.released
    for late in (mine, again):
        with pytest.raises(AlreadyReleased, match="another id"):
            late.release()
    with pytest.raises(AlreadyReleased):
        first.spend(first.dataset("d"), PureDP(0.5), request_id="query 17")
    assert second.epsilon().upper == 0.5
    first.spend(first.dataset("d"), PureDP(0.5), request_id="query 18").release()
    with pytest.raises(BudgetExceeded):
        second.spend(second.dataset("d"), PureDP(0.5), request_id="query 19")
    assert first.epsilon().upper == 1.0


def test_an_id_stands_for_one_spend(opened):
    ledger = opened()
    data, other = ledger.dataset("d"), ledger.dataset("e")
    ledger.spend(data, PureDP(0.25), request_id="q")
    for call in (
        lambda: ledger.spend(data, PureDP(0.125), request_id="q"),
        lambda: ledger.spend(data, PureDP(0.25), times=2, request_id="q"),
        lambda: ledger.spend(other, PureDP(0.25), request_id="q"),
    ):
        with pytest.raises(LedgerMisuse, match="another"):
            call()
    assert ledger.epsilon().upper == 0.25
    for bad in ("", 3, "a\nb"):
        with pytest.raises(InvalidParameter, match="request_id"):
            ledger.spend(data, PureDP(0.25), request_id=bad)


def test_a_refused_request_may_be_asked_again(opened):
    ledger = opened()
    data = ledger.dataset("d")
    with pytest.raises(BudgetExceeded):
        ledger.spend(data, PureDP(1.5), request_id="too much")
    assert ledger.epsilon().upper == 0
    ledger.spend(data, PureDP(0.5), request_id="too much").release()  # nothing was kept of it
    ledger.spend(data, PureDP(0.25))  # without an id, beside
    assert ledger.epsilon().upper == 0.75


def test_accounts_of_a_population_are_charged_once_under_an_id(opened):
    first, second = opened(), opened()
    for ledger in (first, second):
        sites = ledger.population("sites", size=100)
        receipt = ledger.spend(sites, PureDP(0.5), who=[3, 5], request_id="week 7")
    assert first.used(first.population("sites", size=100))[[3, 4, 5]].tolist() == [0.5, 0.0, 0.5]
    with pytest.raises(LedgerMisuse, match="another"):
        second.spend(sites, PureDP(0.5), who=[3, 6], request_id="week 7")
    receipt.release()
    with pytest.raises(AlreadyReleased):
        second.spend(sites, PureDP(0.5), who=[3, 5], request_id="week 7")
    people = first.population("people", size=100, private=True)
    with pytest.raises(LedgerMisuse, match="only one step"):
        first.spend(people, PureDP(0.5), request_id="week 8")
