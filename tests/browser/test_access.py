"""Docs and reports for everybody: WCAG AA by axe, light and dark, on a telephone, with a keyboard alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from devtools import Page

ROOT = Path(__file__).parents[2]
AXE = ROOT / "build" / "axe" / "axe.min.js"
PAGES = (
    "index.html",
    "verdicts.html",
    "libraries.html",
    "tutorials/newcomer-pandas.html",
    "howto/ci.html",
    "reference/cli.html",
    "style.html",
)
# What the theme itself does: furo's sidebar repeats landmarks, and its search field has a placeholder only.
RULES = [
    *("color-contrast", "image-alt", "label", "button-name", "link-name", "html-has-lang"),
    *("document-title", "aria-allowed-attr", "aria-required-attr", "aria-valid-attr"),
    *("aria-valid-attr-value", "list", "listitem", "td-headers-attr", "th-has-data-cells"),
    *("duplicate-id-aria", "heading-order", "scrollable-region-focusable"),
]


@pytest.fixture(scope="session")
def axe():
    if not AXE.is_file():
        subprocess.run(["sh", Path(__file__).with_name("install_axe.sh")], check=True)
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-b", "html", ROOT / "docs", folder]
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT)
    return folder


def violations(page: Page, axe: str, rules: list[str]) -> list[str]:
    page.evaluate(axe + "; 'loaded'")
    only = json.dumps({"runOnly": {"type": "rule", "values": rules}, "resultTypes": ["violations"]})
    page.evaluate(
        f"window.found = null; axe.run(document, {only}).then(r => {{ window.found = r.violations; }}); 1"
    )
    for _ in range(600):
        found = page.evaluate(
            "window.found && JSON.stringify(window.found.map(v => [v.id, v.nodes.length, "
            "v.nodes[0].html.slice(0, 160)]))"
        )
        if found:
            return [str(each) for each in json.loads(found)]
        page.evaluate("new Promise(done => setTimeout(done, 50))")
    raise AssertionError("axe did not end")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_pages_meet_wcag_aa(browser, site, axe, name, scheme):
    with Page(browser, site / name, 1280, scheme) as page:
        assert page.complaints() == []
        assert violations(page, axe, RULES) == []


@pytest.mark.parametrize("name", PAGES)
def test_pages_fit_a_telephone(browser, site, name):
    with Page(browser, site / name, 390, "light") as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["holds", "violated", "consistent", "undecided"])
def test_reports_meet_wcag_aa(browser, reports, axe, name, scheme, tmp_path):
    # The report's content policy runs its own script only; a copy without it takes axe.
    text = reports[name].read_text(encoding="utf-8")
    start = text.index('<meta http-equiv="Content-Security-Policy"')
    copy = tmp_path / "report.html"
    copy.write_text(text[:start] + text[text.index(">", start) + 1 :], encoding="utf-8")
    with Page(browser, copy, 1280, scheme) as page:
        assert violations(page, axe, RULES) == []


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_of_a_ledger_meets_wcag_aa_and_fits_a_telephone(
    browser, ledger_page, axe, scheme, width
):
    with Page(browser, ledger_page, width, scheme) as page:
        assert page.complaints() == []
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert violations(page, axe, RULES) == []


def test_axe_can_fail(browser, axe, tmp_path):
    path = tmp_path / "bad.html"
    path.write_text(
        "<html lang=en><title>t</title><p style='color:#999;background:#fff'>pale</p><img src='data:,'>"
    )
    with Page(browser, path, 1280, "light") as page:
        found = " ".join(violations(page, axe, RULES))
        assert "color-contrast" in found
        assert "image-alt" in found


def test_boards_sort_and_filter_with_a_keyboard(browser, site):
    with Page(browser, site / "libraries.html", 1280, "light") as page:
        first = "document.querySelector('article table tbody tr td').innerText"
        page.evaluate("document.querySelector('article table button.sort').focus()")
        page.press("Enter", 13, "\r")
        up = page.evaluate(first)
        page.press("Enter", 13, "\r")
        assert page.evaluate(first) != up
        assert (
            page.evaluate("document.querySelector('th[aria-sort]').getAttribute('aria-sort')")
            == "descending"
        )
        visible = (
            "[...document.querySelectorAll('article table tbody tr')].filter(r => !r.hidden).length"
        )
        total = page.evaluate(visible)
        page.evaluate("document.querySelector('label.filter input').focus()")
        for letter in "violated":
            page.press(letter, ord(letter.upper()), letter)
        assert 0 < page.evaluate(visible) < total
        assert "rows" in page.evaluate(
            "document.querySelector('label.filter [role=status]').innerText"
        )


def test_blocks_have_copy_buttons(browser, site):
    with Page(browser, site / "tutorials/newcomer-pandas.html", 1280, "light") as page:
        blocks = page.evaluate("document.querySelectorAll('div.highlight').length")
        secure = page.evaluate("Boolean(navigator.clipboard)")
        assert page.evaluate("document.querySelectorAll('button.copy').length") == (
            blocks if secure else 0
        )
