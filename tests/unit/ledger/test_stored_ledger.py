"""Ledgers that are kept, in SQLite and in PostgreSQL: what was spent is there, for everybody."""

import pytest

from dpcheck import ApproxDP, Budget, BudgetExceeded, Gaussian, Ledger, PureDP, SampledGaussian
from dpcheck.core.errors import LedgerMisuse

BUDGET = Budget(3.0, 1e-5)


def counted(place):
    """What the entries of the ledger say."""
    with Ledger.open(place) as ledger:
        entries = ledger.history()
    return sum(entry.times for entry in entries if entry.kind == "release")


def test_what_was_spent_is_there_when_it_is_opened_again(place):
    with Ledger.open(place, BUDGET, "replace-one") as ledger:
        patients = ledger.dataset("patients", rows=100, budget=Budget(2.0, 1e-6))
        low, _ = patients.split_rows(2, name="halves")
        for block in low.split_columns(2, name="blocks"):
            ledger.spend(block, PureDP(0.25), times=3)
        north, _ = patients.split_by("city", ["north", "south"])
        ledger.spend(north, ApproxDP(0.125, 1e-8))
        ledger.overlaps(ledger.dataset("staff"), ledger.dataset("nurses"))
        ledger.spend(ledger.dataset("staff"), SampledGaussian(2.0, 0.01), times=7)
        plan = ledger.plan(ledger.dataset("nurses"), PureDP(0.1) * 5, delta=0.0, name="weekly")
        plan.step(2)
        before = ledger.report(), ledger.statement(), ledger.remaining()
        assert f"Head of the ledger: {before[0].head}" in before[1]
    with Ledger.open(place) as ledger:
        assert (ledger.report(), ledger.statement(), ledger.remaining()) == before
        patients = ledger.dataset("patients", rows=100, budget=Budget(2.0, 1e-6))
        assert ledger.epsilon(dataset=patients, delta=1e-6).upper == 1.625
        plan = ledger.plan(ledger.dataset("nurses"), PureDP(0.1) * 5, name="weekly")
        assert plan.left == {PureDP(0.1): 3}
        with pytest.raises(BudgetExceeded):
            plan.step(4)
        with pytest.raises(LedgerMisuse, match="another schedule"):
            ledger.plan(ledger.dataset("nurses"), PureDP(0.1) * 6, name="weekly")


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_what_is_loaded_goes_on_like_what_stayed_in_memory(place, adjacency):
    """Every release from a handle of its own, against one ledger in memory: the same refusals."""
    events = (PureDP(0.05), Gaussian(9.0), SampledGaussian(1.5, 0.02), PureDP(0.3), Gaussian(20.0))
    budget = Budget(1.0, 1e-5)
    alone = Ledger(budget, adjacency, block=1)
    Ledger.open(place, budget, adjacency).close()

    def parts(ledger):
        data = ledger.dataset("d")
        north, south = data.split_by("city", ["north", "south"])
        return [data, north, south, *north.split_columns(2, name="two")]

    answers = []
    for number in range(40):
        with Ledger.open(place) as ledger:
            for book in (alone, ledger):
                try:
                    book.spend(parts(book)[number % 5], events[number % 4 + number % 2], times=2)
                    answers.append(True)
                except BudgetExceeded:
                    answers.append(False)
            assert ledger.epsilon(1e-5) == alone.epsilon(1e-5)
    assert answers[::2] == answers[1::2]
    assert 5 < sum(answers[::2]) < 40


def test_balances_of_another_version_are_priced_anew(place, monkeypatch):
    with Ledger.open(place, BUDGET, "replace-one") as ledger:
        parts = ledger.dataset("d").split_rows(2, name="halves")
        for part, epsilon in zip(parts, (0.5, 0.25), strict=True):
            ledger.spend(part, PureDP(epsilon), times=2)
        plan = ledger.plan(parts[0], PureDP(0.1) * 5, delta=0.0, name="weekly")
        plan.step(2)
        before = ledger.report()
    for module in ("reading", "writing", "tables"):
        monkeypatch.setattr(f"dpcheck.ledger.storage.sql.{module}.PRICED_BY", "a later dpcheck")
    monkeypatch.setattr(  # of which it is known that balances say something else
        "dpcheck.ledger.storage.sql.reading.set_balance",
        lambda state, place, fields, read=_set_balance: (
            read(state, place, fields) if place.startswith("plan/") else None
        ),
    )
    with Ledger.open(place) as ledger:
        assert ledger.report() == before
        ledger.spend(ledger.dataset("d"), PureDP(0.125))
    monkeypatch.undo()
    with Ledger.open(place) as ledger:
        assert ledger.epsilon().upper == pytest.approx(1.0 + 0.125 + 0.5, rel=1e-12)


def _set_balance(*arguments):
    from dpcheck.ledger.storage.balances import set_balance

    set_balance(*arguments)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"budget": Budget(4.0, 1e-5), "adjacency": "replace-one"}, "budget"),
        ({"budget": BUDGET, "adjacency": "add-remove"}, "adjacency"),
        ({"budget": Budget(3.0)}, "budget"),
        ({"adjacency": "zero-out"}, "adjacency"),
        ({"filter": "zcdp"}, "filter"),
        ({"order": 9.0}, "order"),
    ],
)
def test_opening_on_other_terms_is_refused(place, arguments, words):
    Ledger.open(place, BUDGET, "replace-one").close()
    with pytest.raises(LedgerMisuse, match=f"was opened with {words}"):
        Ledger.open(place, **arguments)
    Ledger.open(place, BUDGET, "replace-one").close()
    Ledger.open(place).close()


def test_a_new_ledger_needs_terms(place):
    with pytest.raises(LedgerMisuse, match="there is no ledger"):
        Ledger.open(place)
    with pytest.raises(LedgerMisuse, match="there is no ledger"):
        Ledger.open(place, BUDGET)
    with pytest.raises(LedgerMisuse, match=r"cannot (create|reach)"):
        Ledger.open(
            place.replace("/postgres?", "/nowhere?").replace("privacy", "no/privacy"),
            BUDGET,
            "replace-one",
        )
    with pytest.raises(LedgerMisuse, match="there is no ledger"):
        Ledger.open(place)


def test_parts_and_plans_of_a_shared_ledger_have_names(place):
    with Ledger.open(place, BUDGET, "replace-one") as ledger:
        data = ledger.dataset("d", rows=10)
        for call in (
            lambda: data.split_rows(2),
            lambda: data.split_columns(2),
            lambda: ledger.plan(data, PureDP(0.1)),
        ):
            with pytest.raises(LedgerMisuse, match="name="):
                call()
        data.split_rows(2, name="halves")
        with pytest.raises(LedgerMisuse, match="in another way"):
            data.split_rows([4, 6], name="halves")


def test_block_one_is_exact_at_every_moment(place):
    with Ledger.open(place, BUDGET, "replace-one", block=1) as ledger:
        data = ledger.dataset("d")
        for step in range(1, 12):
            ledger.spend(data, PureDP(0.01))
            assert counted(place) == step


def test_blocks_run_ahead_by_no_more_than_was_spent_and_are_given_back(place):
    ledger = Ledger.open(place, BUDGET, "replace-one", block=16)
    data = ledger.dataset("d")
    writes, last = 0, 0
    for step in range(1, 61):
        ledger.spend(data, PureDP(0.001))
        now = counted(place)
        writes, last = writes + (now != last), now
        assert step <= now <= min(2 * step, step + 16)
        assert ledger.epsilon().upper == pytest.approx(step * 0.001)  # reading is exact
    assert writes < 12
    ledger.close()
    assert counted(place) == 60


def test_two_handles_see_each_other(place):
    first = Ledger.open(place, Budget(1.0), "replace-one", block=1)
    second = Ledger.open(place, block=1)
    mine, yours = first.dataset("d", rows=10), second.dataset("d", rows=10)
    first.spend(mine, PureDP(0.75))
    with pytest.raises(BudgetExceeded) as caught:
        second.spend(yours, PureDP(0.5))
    assert caught.value.data["spent"] == 0.75
    part, _ = mine.split_rows(2, name="halves")
    first.spend(part, PureDP(0.125))
    assert second.epsilon().upper == 0.875
    other = second.dataset("d", rows=10).split_rows(2, name="halves")[1]
    second.spend(other, PureDP(0.25))
    assert first.epsilon().upper == 1.0
    with pytest.raises(LedgerMisuse, match="already exists"):
        second.dataset("d", rows=11)
    first.close()
    second.close()


def test_overlaps_declared_elsewhere_are_seen_before_the_next_release(place):
    first = Ledger.open(place, Budget(1.0), "add-remove", block=1)
    second = Ledger.open(place, block=1)
    a, b = first.dataset("a"), first.dataset("b")
    theirs = second.dataset("a")
    assert second.how_many(theirs, PureDP(0.5)) == 2  # known here before it overlaps
    first.overlaps(a, b)
    first.spend(b, PureDP(0.75))
    with pytest.raises(BudgetExceeded, match=r"a \+ b"):
        second.spend(theirs, PureDP(0.5))
    second.spend(theirs, PureDP(0.25))
    assert first.epsilon().upper == 1.0
    with pytest.raises(LedgerMisuse, match="releases already"):
        second.overlaps(second.dataset("a"), second.dataset("c"))
    first.close()
    second.close()


def test_handles_never_overspend_together(place):
    ledgers = [Ledger.open(place, Budget(1.0), "replace-one", block=7) for _ in range(3)]
    data = [ledger.dataset("d") for ledger in ledgers]
    spent, working = 0, {0, 1, 2}
    while working:
        for i in tuple(working):
            try:
                ledgers[i].spend(data[i], PureDP(1 / 128))
                spent += 1
            except BudgetExceeded:
                working.discard(i)
    for ledger in ledgers:
        ledger.close()
    assert counted(place) == spent
    assert 128 - 3 * 7 <= spent <= 128  # what the others hold ahead can refuse the last few


def test_a_plan_is_stepped_by_two_handles_and_never_beyond_its_end(place):
    first = Ledger.open(place, Budget(9.0), "replace-one", block=8)
    second = Ledger.open(place, block=8)
    plans = [one.plan(one.dataset("d"), PureDP(0.125) * 64, name="p") for one in (first, second)]
    steps, working = 0, set(plans)
    while working:
        for plan in tuple(working):
            try:
                plan.step()
                steps += 1
            except BudgetExceeded:
                working.discard(plan)
    assert 64 - 8 <= steps <= 64
    first.close()
    second.close()
    with Ledger.open(place) as again:
        plan = again.plan(again.dataset("d"), PureDP(0.125) * 64, name="p")
        assert sum(plan.left.values()) == 64 - steps
        assert again.epsilon().upper == 8.0
        with pytest.raises(LedgerMisuse, match="another schedule"):
            again.plan(again.dataset("e"), PureDP(0.125) * 64, name="p")


def test_the_head_reveals_a_restored_backup(place):
    with Ledger.open(place, BUDGET, "replace-one", block=1) as ledger:
        data, heads = ledger.dataset("d"), set()
        for _ in range(5):
            ledger.spend(data, PureDP(0.1))
            heads.add(ledger.report().head)
        ledger.dataset("e")
        heads.add(ledger.report().head)
    assert len(heads) == 6
