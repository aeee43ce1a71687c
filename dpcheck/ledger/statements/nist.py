"""A ledger in the order of NIST SP 800-226: what its reader asks, answered or left open by name.

The headings follow the parts of the differential-privacy pyramid of that publication; the words are ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from dpcheck.ledger.report import NOT_ACCOUNTED, Report
from dpcheck.ledger.statements.registry import Verdicts, record

_OPEN = "The ledger does not know this. The publisher has to answer it."


def summary(
    report: Report,
    units: Mapping[str, tuple[str, int]],
    answers: Mapping[str, object] | None = None,
    verdicts: Verdicts | None = None,
) -> str:
    """Section by section, as markdown.

    Guarantee: a section without a known answer says so.
    """
    given = dict(answers or {})
    content = record(report, units, given, verdicts).content["deployment"]
    assert isinstance(content, Mapping)

    def known(place: str) -> str:
        table, _, name = place.partition(".")
        inner = content.get(table)
        value = inner.get(name) if isinstance(inner, Mapping) else None
        return _OPEN if value is None else str(value)

    unit, details = known("privacy_loss.privacy_unit"), known("privacy_loss.privacy_unit_details")
    sections = {
        "Privacy parameters (epsilon, delta)": known("privacy_loss.privacy_parameters_details"),
        "Unit of privacy": unit if unit == _OPEN else f"{unit}. {details}",
        "Mechanisms and algorithms": known("implementation.mechanisms"),
        "Composition over releases": known("accounting.composition"),
        "Utility and post-processing": known("accounting.post_processing"),
        "Correctness of the implementation": str(verdicts or Verdicts()),
        "Data collection and preprocessing": known(
            "implementation.preprocessing_and_hyperparameter_tuning"
        ),
        "Trust model and access control": known("deployment_model.actors"),
        "Side channels and what is not accounted": "; ".join(NOT_ACCOUNTED) + ".",
    }
    lines = ["# Differential privacy of this release, in the order of NIST SP 800-226", ""]
    for heading, text in sections.items():
        lines += [f"## {heading}", "", text, ""]
    return "\n".join(lines)
