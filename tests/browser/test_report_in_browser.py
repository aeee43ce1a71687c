"""HTML reports in headless Chromium: no errors, no network, nothing cut off, in any width and theme."""

import base64

import pytest
from devtools import Page

NAMES = ("holds", "violated", "consistent", "undecided", "many", "gate", "curve", "losses")

# Boxes that stick out of the window, of their picture, or of a box that hides what sticks out.
STICKING_OUT = """(() => {
  const found = [];
  const said = (e, why) => found.push(why + ": " + (e.textContent || e.tagName).trim().slice(0, 60));
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("pre, .skip, svg, thead, [hidden]") && e.tagName !== "svg" && e.tagName !== "PRE") continue;
    const box = e.getBoundingClientRect();
    if (box.width === 0 || e.matches(".skip")) continue;
    if (box.left < -1 || box.right > innerWidth + 1) said(e, "outside the window");
    const style = getComputedStyle(e);
    if (style.overflowX === "hidden" && e.scrollWidth > e.clientWidth + 1) said(e, "cut off");
  }
  for (const svg of document.querySelectorAll("svg")) {
    const frame = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll("text")].filter(t => t.textContent.trim());
    const boxes = words.map(t => t.getBoundingClientRect());
    boxes.forEach((a, i) => {
      if (a.left < frame.left - 4 || a.right > frame.right + 4 || a.top < frame.top - 4
          || a.bottom > frame.bottom + 4) said(words[i], "outside its picture");
      boxes.forEach((b, j) => {
        const across = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const down = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (j > i && across > 1.5 && down > 3.5) said(words[i], "on top of " + words[j].textContent);
      });
    });
  }
  return found;
})()"""


@pytest.fixture(params=[360, 390, 1280], ids=["narrow", "telephone", "wide"])
def width(request):
    return request.param


@pytest.fixture(params=["light", "dark"])
def scheme(request):
    return request.param


@pytest.mark.parametrize("name", NAMES)
def test_renders(browser, reports, shots, name, width, scheme):
    with Page(browser, reports[name], width, scheme) as page:
        if shots is not None:
            page.screenshot(shots / f"{name}-{width}-{scheme}.png")
            page.resize(width, 900)
        page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
        assert page.complaints() == []
        assert page.requests() == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.evaluate(STICKING_OUT) == []
        assert page.evaluate("document.title").endswith("– dpcheck")  # nobody's name was run
        smallest = page.evaluate(
            "Math.min(...[...document.querySelectorAll('svg text')].map(t => {"
            " const s = t.ownerSVGElement; return parseFloat(getComputedStyle(t).fontSize)"
            " * s.getBoundingClientRect().width / s.viewBox.baseVal.width; }))"
        )
        assert smallest >= 8.5


def test_theme_follows_the_reader(browser, reports):
    grounds = {}
    for scheme in ("light", "dark"):
        with Page(browser, reports["holds"], 1280, scheme) as page:
            grounds[scheme] = page.evaluate(
                "getComputedStyle(document.documentElement).backgroundColor"
            )
            ink = page.evaluate("getComputedStyle(document.querySelector('svg text')).fill")
            grounds[scheme + " ink"] = ink
    assert grounds["light"] == "rgb(246, 247, 249)"
    assert grounds["dark"] == "rgb(17, 22, 29)"
    assert grounds["light ink"] != grounds["dark ink"]


def test_the_probe_for_overflow_can_fail(browser, reports, tmp_path):
    broken = (
        reports["holds"].read_text().replace("<main>", "<main><p style='width: 2000px'>wide</p>")
    )
    broken = broken.replace("</svg>", "<text x='320' y='40'>a label outside</text></svg>", 1)
    broken = broken.replace(
        "</head>", "<script src='https://example.invalid/x.js'></script></head>"
    )
    path = tmp_path / "broken.html"
    path.write_text(broken)
    with Page(browser, path, 360, "light") as page:
        found = page.evaluate(STICKING_OUT)
        assert any(text.startswith("outside the window: wide") for text in found)
        assert any(text.startswith("outside its picture: a label") for text in found)
        assert page.evaluate("document.documentElement.scrollWidth") > 360
        assert page.complaints()  # the content policy refused the script


def test_keyboard(browser, reports):
    with Page(browser, reports["violated"], 1280, "light") as page:
        seen = []
        for _ in range(12):
            page.press("Tab", 9)
            tag, outline = page.evaluate(
                "[document.activeElement.tagName, getComputedStyle(document.activeElement).outlineStyle]"
            )
            seen.append(tag)
            assert outline != "none", seen
        assert seen[0] == "A"  # the link that skips to the parts
        assert {"BUTTON", "PRE", "SUMMARY"} <= set(seen)
        page.evaluate("document.querySelector('summary').focus()")
        page.press("Enter", 13, "\r")
        assert page.evaluate("document.querySelector('details').open") is True
        page.evaluate("document.querySelector('button').focus()")
        page.press("Enter", 13, "\r")
        page.call(
            "Runtime.evaluate", expression="new Promise(r => setTimeout(r, 300))", awaitPromise=True
        )
        assert page.evaluate("document.querySelector('button').textContent") in (
            "Copied",
            "Selected",
        )
        assert page.complaints() == []


def test_what_a_screen_reader_hears(browser, reports):
    with Page(browser, reports["violated"], 1280, "light") as page:
        nodes = [n for n in page.call("Accessibility.getFullAXTree")["nodes"] if not n["ignored"]]
    named = [(n["role"]["value"], n.get("name", {}).get("value", "")) for n in nodes]
    assert sum(role == "main" for role, _ in named) == 1
    pictures = [name for role, name in named if role in ("image", "img", "graphics-document")]
    assert len(pictures) >= 3
    assert all(len(name) > 30 for name in pictures), pictures
    assert all(name for role, name in named if role in ("button", "link", "heading", "table"))
    assert sum(role == "columnheader" for role, _ in named) >= 5


def test_prints(browser, reports):
    with Page(browser, reports["violated"], 1280, "dark") as page:
        paper = base64.b64decode(page.call("Page.printToPDF")["data"])
        assert paper.startswith(b"%PDF")
        assert len(paper) > 20_000
        page.call("Emulation.setEmulatedMedia", media="print")
        assert page.evaluate("getComputedStyle(document.querySelector('button')).display") == "none"
        # Paper is light, whatever the screen is.
        assert (
            page.evaluate(
                "getComputedStyle(document.documentElement).getPropertyValue('--page').trim()"
            )
            == "#f6f7f9"
        )


HEADINGS = (
    "Scope: what was claimed",
    "Finding: the verdict",
    "Finding: what is proved",
    "Conditions: what this depends on",
    "Not shown",
    "What it means for a person in the data",
    "Who made this, when, from what",
)
ASKED = "[...document.querySelectorAll('#first-page dt')].map(e => e.textContent)"


@pytest.mark.parametrize("name", ["holds", "violated", "consistent", "undecided", "curve"])
def test_the_first_page_answers_whoever_signs(browser, reports, name, scheme):
    with Page(browser, reports[name], 390, scheme) as page:
        assert page.evaluate(ASKED) == list(HEADINGS)
        text = page.evaluate("document.querySelector('#first-page').innerText")
        assert "right at most" in text
        assert "made at: 20" in text
        above = page.evaluate(
            "document.querySelector('#first-page').getBoundingClientRect().top"
            " < document.querySelector('#summary').getBoundingClientRect().top"
        )
        assert above
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_pictures_show_the_pair_that_convicts(browser, reports):
    with Page(browser, reports["violated"], 1280, "light") as page:
        pairs = page.evaluate(
            "[...document.querySelectorAll('pre[id$=-data]')].map(e => JSON.parse(e.textContent).pair)"
        )
        captions = page.evaluate(
            "[...document.querySelectorAll('figcaption')].map(e => e.textContent)"
        )
    drawn = [text for text in captions if "runs a side, pair" in text]
    assert len(drawn) == len(pairs) == 2
    assert all(f"pair “{pair}”" in text for pair, text in zip(pairs, drawn, strict=True))


def test_a_curve_claim_is_worded_where_it_fails(browser, reports):
    with Page(browser, reports["curve"], 390, "dark") as page:
        lead = page.evaluate("document.querySelector('.lead').textContent")
        assert "the claimed curve allows epsilon" in lead
        assert "the whole curve of" in page.evaluate("document.body.innerText")


def test_a_gate_report_leads_with_what_changed(browser, reports, scheme):
    with Page(browser, reports["gate"], 390, scheme) as page:
        assert page.evaluate(ASKED)[0] == "What changed"
        assert "it was consistent" in page.evaluate(
            "document.querySelector('#first-page dd').textContent"
        )
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_glossary_is_inside(browser, reports):
    with Page(browser, reports["holds"], 1280, "light") as page:
        words = page.evaluate(
            "[...document.querySelectorAll('#glossary ~ details dt')].map(e => e.textContent)"
        )
    assert {"holds", "consistent", "add-remove", "privacy loss"} <= set(words)
