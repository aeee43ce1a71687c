"""One HTML page of a ledger: budgets, burn-down over time, who spent, what still fits; nothing is fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from dpcheck.ledger.report import AccountReport, Remaining, Report
from dpcheck.ledger.timeline import Point, moment

_MOST_CURVES = 7
_WIDTH, _HEIGHT, _LEFT, _BOTTOM = 720, 260, 80, 40
# Of Paul Tol's scheme, which colour-blind readers tell apart.
_COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377", "#777777")
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "table{border-collapse:collapse;width:100%}td,th{text-align:left;padding:.3rem .6rem;"
    "border-bottom:1px solid #ddd;vertical-align:top}meter{width:8rem}code{word-break:break-word}"
    "body{overflow-wrap:anywhere}div{overflow-x:auto}svg text{fill:currentColor}"
    "@media(prefers-color-scheme:dark){body{background:#111;color:#ddd}td,th{border-color:#444}}"
)


@dataclass(frozen=True, slots=True)
class Spender:
    """Releases that somebody counted from a dataset, without those given back."""

    by: str
    dataset: str
    releases: int
    last: float


@dataclass(frozen=True, slots=True)
class Overview:
    """What the page shows."""

    place: str
    report: Report
    remaining: Sequence[Remaining]
    points: Sequence[Point]
    spenders: Sequence[Spender]


def page(seen: Overview) -> str:
    """The page."""
    report = seen.report
    parts = [
        f"<h1>Privacy budget: {escape(seen.place)}</h1>",
        f"<p>Neighbours: {escape(str(report.adjacency))}. Releases as they came by the "
        f"{escape(report.theorem)}.</p>",
        "<h2>Budgets</h2>",
        _table(
            ("whose", "epsilon spent", "of", "delta", "proved by"),
            [_account(account) for account in report.accounts],
        ),
        "<h2>Burn-down</h2>",
        burn_down(seen.points, report.accounts),
        "<h2>Who spent</h2>",
        _table(
            ("who", "dataset", "releases", "last"),
            [
                (escape(s.by), escape(s.dataset), f"{s.releases:,}", _moment(s.last))
                for s in seen.spenders
            ],
        ),
        "<h2>What still fits</h2>",
        _list([str(left) for left in seen.remaining]),
        "<h2>Releases</h2>",
        _table(
            ("from", "what", "times", "how"),
            [
                (
                    escape(line.where),
                    f"<code>{escape(str(line.event))}</code>",
                    f"{line.times:,}",
                    escape(line.how),
                )
                for line in report.lines
            ],
        ),
    ]
    if report.head is not None:
        parts.append(f"<p>Head of the ledger: <code>{escape(report.head)}</code></p>")
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(seen.place)}'
        '</title><meta name="viewport" content="width=device-width">'
        f"<style>{_STYLE}</style></head><body>{''.join(parts)}</body></html>\n"
    )


def _account(account: AccountReport) -> tuple[str, ...]:
    whole, spent = account.budget.epsilon, account.spent.upper
    used = min(1.0, spent / whole) if whole else 1.0
    name = escape(account.name, quote=True)
    meter = f'<meter aria-label="{name}" min="0" max="1" high="0.9" value="{used:.4f}">{used:.0%}</meter>'
    return (
        f"{escape(account.name)} (per {escape(account.unit)})",
        f"{meter} {spent:.4g}" if account.odometer else f"at most {spent:.4g}",
        f"{whole:g}",
        f"{account.budget.delta:g}",
        escape(account.spent.method),
    )


def _table(names: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    if not rows:
        return "<p>Nothing yet.</p>"
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div tabindex="0" role="region" aria-label="{escape(names[0])}">{table}</div>'


def _list(lines: Sequence[str]) -> str:
    if not lines:
        return "<p>Nothing was declared yet.</p>"
    return f"<ul>{''.join(f'<li>{escape(line)}</li>' for line in lines)}</ul>"


def _moment(seconds: float) -> str:
    return moment(seconds, "%Y-%m-%d %H:%M UTC")


def burn_down(points: Sequence[Point], accounts: Sequence[AccountReport]) -> str:
    """What was left of each budget when, as a drawing; of the accounts that have the least left."""
    budgets = {account.name: account.budget.epsilon for account in accounts}
    curves: dict[str, list[tuple[float, float]]] = {}
    for point in points:
        whole = budgets.get(point.account)
        if whole:
            left = max(0.0, 1 - point.epsilon / whole)
            curves.setdefault(point.account, []).append((point.time, left))
    shown = sorted(curves, key=lambda name: curves[name][-1][1])[:_MOST_CURVES]
    if not shown:
        return "<p>Nothing was spent yet.</p>"
    times = [time for name in shown for time, _ in curves[name]]  # clocks may go backwards
    start, end = min(times), max(times)
    span = max(end - start, 1e-9)

    def x(at: float) -> float:
        return _LEFT + (at - start) / span * (_WIDTH - _LEFT - 10)

    def y(left: float) -> float:
        return 10 + (1 - left) * (_HEIGHT - _BOTTOM - 10)

    drawn = [
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT + 22 * len(shown)}" role="img" width="100%">'
        "<title>What is left of each budget over time</title>"
    ]
    for share in (0.0, 0.5, 1.0):
        drawn.append(
            f'<path d="M{_LEFT} {y(share):.1f}H{_WIDTH - 10}" stroke="#999" stroke-width=".5"/>'
            f'<text x="4" y="{y(share) + 5:.1f}" font-size="13">{share:.0%} left</text>'
        )
    for at, anchor in ((start, "start"), (end, "end")):
        drawn.append(
            f'<text x="{x(at):.1f}" y="{_HEIGHT - 12}" font-size="13" text-anchor="{anchor}">'
            f"{_moment(at)}</text>"
        )
    for number, name in enumerate(shown):
        colour = _COLOURS[number % len(_COLOURS)]
        steps = [f"M{x(curves[name][0][0]):.1f} {y(1.0):.1f}"]
        steps += [f"H{x(at):.1f}V{y(left):.1f}" for at, left in curves[name]]
        drawn.append(
            f'<path d="{"".join(steps)}H{_WIDTH - 10}" fill="none" stroke="{colour}" stroke-width="2"/>'
            f'<circle cx="{_WIDTH - 10}" cy="{y(curves[name][-1][1]):.1f}" r="4" fill="{colour}"/>'
            f'<path d="M{_LEFT} {_HEIGHT + 11 + 22 * number}h24" stroke="{colour}" stroke-width="4"/>'
            f'<text x="{_LEFT + 32}" y="{_HEIGHT + 16 + 22 * number}" font-size="14">'
            f"{escape(name)}: {curves[name][-1][1]:.0%} left</text>"
        )
    return "".join([*drawn, "</svg>"])
