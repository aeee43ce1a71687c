"""Who made a report, when, and from what: what somebody who signs it must be able to name."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from dpcheck.core.data import Plain


@dataclass(frozen=True, slots=True)
class Made:
    """Empty texts are things that were not known; nothing here is guessed.

    `code` is a SHA-256 digest of the audited files and those of their own that they import, `data` one
    of the described records or of the given pairs.
    """

    when: str = ""  # UTC, to the second
    who: str = ""
    commit: str = ""
    changed: bool = False  # files differed from that commit
    code: str = ""
    data: str = ""

    def to_dict(self) -> dict[str, Plain]:
        """As in the report's JSON schema; what is not known is null."""
        return {name: None if value == "" else value for name, value in asdict(self).items()}

    def lines(self) -> tuple[tuple[str, str], ...]:
        """(name, text) of what is known.

        >>> Made(when="2026-11-17T10:00:00Z", commit="ab12", changed=True).lines()[1]
        ('commit', 'ab12, with changes that were not committed')
        """
        commit = self.commit + (", with changes that were not committed" if self.changed else "")
        found = (
            ("made at", self.when),
            ("commit", commit if self.commit else ""),
            ("made by", self.who),
            ("code", f"sha256 {self.code}" if self.code else ""),
            ("data description", f"sha256 {self.data}" if self.data else ""),
        )
        return tuple((name, text) for name, text in found if text)
