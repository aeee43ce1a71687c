"""A screenshot of a report: `python tests/browser/screenshot.py report.html out.png [height] [dark]`.

The first `height` pixels of a window 1280 wide, in few colours, so that the file is small.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

from devtools import Browser, Page


def main(source: str, target: str, height: str = "1390", scheme: str = "light") -> None:
    from PIL import Image

    with Browser() as browser, Page(browser, Path(source), 1280, scheme) as page:
        page.resize(1280, int(height))
        picture = page.call("Page.captureScreenshot", format="png")["data"]
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
