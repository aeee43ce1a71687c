"""DPDA's epochs, by the same function the command prints from."""

from dpcheck.reproduce.dpda.epochs import TABLE_2, TABLE_3, epochs, recompute


def test_classic_conversion_reproduces_the_printed_epochs():
    # W->D and A->W; no number of rows fits every entry, so one epoch and half a percent are allowed.
    for entry in (*TABLE_2, *TABLE_3):
        if entry.task == "D->W":
            continue
        ours = recompute(entry, "rdp-classic")
        assert abs(ours - entry.epochs) <= max(1, 0.005 * entry.epochs), entry


def test_dslr_to_webcam_repeats_the_other_direction():
    printed = {task: [e.epochs for e in TABLE_2 if e.task == task] for task in ("D->W", "W->D")}
    assert printed["D->W"] == printed["W->D"]
    first = next(e for e in TABLE_2 if e.task == "D->W")
    assert recompute(first, "rdp-classic") > 1.4 * first.epochs


def test_everything_is_printed(monkeypatch):
    monkeypatch.setattr("dpcheck.reproduce.dpda.epochs.METHODS", ("rdp-classic",))
    lines: list[str] = []
    epochs(None, lines.append)
    text = "\n".join(lines)
    assert sum(line.startswith("  A->W") for line in lines) == 21
    assert sum(line.startswith(("  D->W", "  W->D")) for line in lines) == 6
    assert "are those of W->D" in text
