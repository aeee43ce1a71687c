"""A screenshot of a report: `python tests/browser/screenshot.py report.html out.png [height] [dark] [width]`.

The first `height` pixels of a window, 1280 wide unless told, in few colours, so that the file is small.
The text of the report goes along as the picture's description: tests read it.
"""

from __future__ import annotations

import base64
import io
import sys
from pathlib import Path

from devtools import Browser, Page


def main(
    source: str, target: str, height: str = "1390", scheme: str = "light", width: str = "1280"
) -> None:
    from PIL import Image, PngImagePlugin

    told = PngImagePlugin.PngInfo()
    with Browser() as browser, Page(browser, Path(source), int(width), scheme) as page:
        page.resize(int(width), int(height))
        told.add_itxt("Description", page.evaluate("document.body.innerText"), zip=True)
        picture = page.call("Page.captureScreenshot", format="png")["data"]
    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    image.quantize(128, dither=Image.Dither.NONE).save(target, optimize=True, pnginfo=told)


if __name__ == "__main__":
    main(*sys.argv[1:])
