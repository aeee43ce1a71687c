"""From a matplotlib figure to SVG that lives inside a page: themed, labelled, the same every time."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape

from dpcheck.core.extras import need
from dpcheck.report.palette import LIGHT

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is drawn in INK["first"] becomes var(--first): the page decides what colour that is.
INK = {name: f"#0{index:02x}0fe" for index, name in enumerate(LIGHT, start=1)}
_RIGHT, _BELOW = 0.14, 0.48  # inches


@dataclass(frozen=True, slots=True)
class Drawing:
    """One figure as SVG, what it shows, and what to read beside it."""

    svg: str
    title: str
    caption: str


def draw(
    title: str,
    description: str,
    size: tuple[float, float],
    paint: Callable[[Axes], None],
    *,
    key: str,
    margins: tuple[float, float] = (0.62, 0.3),
) -> str:
    """One figure as an <svg> element; `key` keeps its ids apart from those of other figures.

    `margins` left and above the axes are in inches, as is `size`: fixed, so that figures line up.

    >>> svg = draw("A line", "It rises.", (2, 1), lambda axes: axes.plot([0, 1]), key="f0")
    >>> svg.startswith('<svg role="img"'), "<title" in svg, "#" + "0" * 6 in svg
    (True, True, False)
    """
    need("matplotlib", "report")
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=size)
        FigureCanvasSVG(figure)
        (width, height), (left, top) = size, margins
        axes = figure.add_axes(
            (
                left / width,
                _BELOW / height,
                1 - (left + _RIGHT) / width,
                1 - (top + _BELOW) / height,
            )
        )
        paint(axes)
        for spine in axes.spines.values():
            spine.set_visible(False)
        axes.set_axisbelow(True)
        stream = io.StringIO()
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(stream.getvalue(), title, description, key)


@contextmanager
def _style() -> Iterator[None]:
    import matplotlib as mpl

    settings: Any = {
        "svg.fonttype": "none",
        "svg.hashsalt": "dpcheck",
        "font.size": 9.5,
        "font.family": ["DejaVu Sans"],
        "figure.facecolor": "none",
        "axes.facecolor": "none",
        "savefig.facecolor": "none",
        "text.color": INK["text"],
        "axes.labelcolor": INK["text"],
        "axes.edgecolor": INK["muted"],
        "xtick.color": INK["muted"],
        "ytick.color": INK["muted"],
        "xtick.labelcolor": INK["text"],
        "ytick.labelcolor": INK["text"],
        "grid.color": INK["line"],
        "grid.linewidth": 0.6,
        "axes.grid": True,
        "legend.frameon": False,
        "legend.labelcolor": INK["text"],
        "legend.fontsize": 9,
        "xtick.major.size": 0,
        "ytick.major.size": 0,
        "hatch.linewidth": 0.5,
        "xtick.major.pad": 5.5,
        "ytick.major.pad": 4.5,
    }
    with mpl.rc_context():
        mpl.rcdefaults()  # whatever a user's matplotlibrc says
        mpl.rcParams.update(settings)
        yield


def _inline(text: str, title: str, description: str, key: str) -> str:
    body = text[text.index("<svg") :]
    box = re.search(r'viewBox="([^"]+)"', body)
    assert box is not None
    # A <style> inside an SVG would apply to the whole page; ours is in the page's own.
    body = re.sub(r"<(metadata|style)\b.*?</\1>", "", body, flags=re.DOTALL)
    inner = body[body.index(">") + 1 :]
    for name, ink in INK.items():
        inner = inner.replace(ink, f"var(--{name})")
    # Only what is referred to needs an id, and it must be unique on the page.
    inner = re.sub(r'(<g) id="[^"]*"', r"\1", inner)
    inner = re.sub(r'\bid="', f'id="{key}-', inner)
    inner = inner.replace('href="#', f'href="#{key}-').replace("url(#", f"url(#{key}-")
    # The page's own fonts; sizes stay.
    inner = re.sub(
        r"font: (?:bold|[6-9]00) ([\d.]+px)[^;\"]*", r"font-weight: 600; font-size: \1", inner
    )
    inner = re.sub(r"font: ([\d.]+px)[^;\"]*", r"font-size: \1", inner)
    inner = re.sub(r"font-family: [^;\"]*;? ?", "", inner)
    inner = re.sub(r"\s*\n\s*", " ", inner).replace("> <", "><")
    return (
        f'<svg role="img" aria-labelledby="{key}-title {key}-desc" viewBox="{box.group(1)}" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<title id="{key}-title">{escape(title)}</title>'
        f'<desc id="{key}-desc">{escape(description)}</desc>{inner}'
    )
