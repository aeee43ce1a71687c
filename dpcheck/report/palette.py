"""The colours of reports: one name per meaning, a value for light and one for dark.

Blue and orange tell the two sides apart for every common kind of colour blindness; line styles and
words say the same. Text has at least 4.5:1 against its background, marks 3:1; a test measures it.
"""

from __future__ import annotations

LIGHT = {
    "page": "#f6f7f9",
    "card": "#ffffff",
    "line": "#d5dae1",
    "text": "#1b2430",
    "muted": "#566273",
    "link": "#0b57a4",
    "code": "#eef1f5",
    "first": "#0b66b5",
    "second": "#b8520a",
    "claim": "#7b2d8e",
    "proved": "#0b7560",
    "observed": "#1b2430",
    "holds": "#0b7560",
    "consistent": "#0b57a4",
    "violated": "#b3261e",
    "undecided": "#7a5a00",
}
DARK = {
    "page": "#11161d",
    "card": "#1a212b",
    "line": "#364150",
    "text": "#e8ecf1",
    "muted": "#a5b1c0",
    "link": "#7cb8f5",
    "code": "#0e131a",
    "first": "#5eaaf0",
    "second": "#f0a05a",
    "claim": "#d9a0e8",
    "proved": "#53cdb2",
    "observed": "#e8ecf1",
    "holds": "#53cdb2",
    "consistent": "#7cb8f5",
    "violated": "#ff8b80",
    "undecided": "#e3bf55",
}


def variables(colours: dict[str, str]) -> str:
    """CSS custom properties.

    >>> variables({"page": "#ffffff"})
    '--page: #ffffff;'
    """
    return " ".join(f"--{name}: {value};" for name, value in colours.items())


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours, 1 to 21, as WCAG 2.2 defines it.

    >>> round(contrast("#ffffff", "#767676"), 2)
    4.54
    """
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
