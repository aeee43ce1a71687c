"""Names of datasets, splits and plans: fit for a path, and not to be taken for another."""

from __future__ import annotations

from unicodedata import category, normalize

from dpcheck.core.errors import InvalidParameter

_FORBIDDEN = frozenset("/[]")
_UNPRINTABLE = frozenset(
    {"Cc", "Cs", "Zl", "Zp"}
)  # they would break a report's lines, or its printing
_LONGEST = 200  # four bytes each still fit into the index of a database
_JOINERS = frozenset("\u200c\u200d\ufe0f")  # part of words and of emoji
# Letters of other alphabets that are drawn like Latin ones.
_CYRILLIC = ("аеорсухіјѕһԁԛԝӏАВЕКМНОРСТУХІЈЅ", "aeopcyxijshdqwlABEKMHOPCTYXIJS")
_GREEK = ("οανρικυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "oavpikuxABEZHIKMNOPTYX")
_DRAWN_LIKE = str.maketrans(dict([*zip(*_CYRILLIC, strict=True), *zip(*_GREEK, strict=True)]))


def checked_name(what: str, value: object) -> str:
    """A name that can stand in a path, or InvalidParameter."""
    if not isinstance(value, str) or not value.strip() or _FORBIDDEN & set(value):
        raise InvalidParameter(
            f"the {what} must be a name without / [ ], got {brief(value)}.", name=what, value=value
        )
    if len(value) > _LONGEST:
        raise InvalidParameter(
            f"the {what} must have at most {_LONGEST} characters, got {len(value):,}.", name=what
        )
    if any(category(letter) in _UNPRINTABLE for letter in value):
        raise InvalidParameter(
            f"the {what} must have no line breaks or control characters, got {brief(value)}.",
            name=what,
            value=value,
        )
    seen = "".join(c for c in value if category(c) != "Cf" or c in _JOINERS).strip()
    if seen != value:
        raise InvalidParameter(
            f"the {what} {value!a} has spaces at an end, or invisible letters. Do you mean {seen!r}?",
            name=what,
            value=value,
        )
    return value


def drawn(name: str) -> str:
    """What a name looks like: the same for names that a reader takes for each other.

    >>> drawn("p\u0430tients") == drawn("patients")
    True
    """
    plain = normalize("NFKC", name).translate(_DRAWN_LIKE)
    seen = (c for c in plain if category(c) != "Cf" and c not in _JOINERS)
    return " ".join("".join(seen).split())


def brief(value: object) -> str:
    """What somebody passed, on one line of an error."""
    text = repr(value)
    return text if len(text) <= 80 and "\n" not in text else f"a {type(value).__name__}"
