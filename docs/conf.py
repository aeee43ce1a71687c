"""Sphinx settings: MyST pages, docstrings, and one bibliography that code and pages share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import dpcheck

project = "dpcheck"
author = "the dpcheck authors"
project_copyright = f"2026, {author}"
version = release = dpcheck.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "sphinxcontrib.bibtex",
    "citations",
    "from_code",
    "mathml",
]
exclude_patterns = ["_build", "_ext"]
html_theme = "furo"
html_title = "dpcheck"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
bibtex_bibfiles = ["references.bib"]
bibtex_reference_style = "author_year"
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
html_math_renderer = "mathml"
myst_heading_anchors = 3
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
suppress_warnings = ["myst.xref_missing_file"]  # links to files of the repository outside docs/
