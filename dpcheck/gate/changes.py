"""What became different since the last check of a project, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpcheck.core.data import Plain

TROUBLE = ("violated", "undecided", "overspent")


def changes(
    before: Sequence[Mapping[str, Plain]] | None, now: Mapping[str, str]
) -> tuple[str, ...]:
    """What to read first; `now` is the verdict of every finding by its name.

    >>> changes([{"name": "ages/data", "verdict": "consistent"}], {"ages/data": "violated"})
    ('ages/data: violated; it was consistent.',)
    >>> changes([{"name": "ages/data", "verdict": "holds"}], {"ages/data": "holds"})
    ('Nothing changed since the last check.',)
    """
    if before is None:
        return ()
    was = {str(item["name"]): str(item.get("verdict", "")) for item in before}
    lines = [
        f"{name}: {verdict}; it was {was[name]}."
        for name, verdict in now.items()
        if was.get(name) and was[name] != verdict
    ]
    lines.sort(key=lambda line: line.split(": ", 1)[1].split(";")[0] not in TROUBLE)
    lines += [f"{name}: {verdict}; it is new." for name, verdict in now.items() if name not in was]
    lines += [f"{name} is no longer checked." for name in was if name not in now]
    return tuple(lines) or ("Nothing changed since the last check.",)
