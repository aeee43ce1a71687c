"""What a release needs is in the repository, and its parts agree with each other."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
import yaml

import dpcheck

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def links():
    spec = importlib.util.spec_from_file_location("links", ROOT / ".ci" / "absolute_links.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_citation_has_the_version_and_the_repository():
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert cited["version"] == dpcheck.__version__
    assert cited["repository-code"] == PROJECT["urls"]["Repository"]
    assert cited["license"] == PROJECT["license"]


def test_the_metadata_says_who_where_and_for_which_python():
    assert PROJECT["authors"]
    assert {"Repository", "Documentation", "Changelog", "Issues"} <= set(PROJECT["urls"])
    named = {text.rpartition(" ")[2] for text in PROJECT["classifiers"] if ":: 3." in text}
    tested = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["versions"]
    assert named == set(tested["strategy"]["matrix"]["python"])


def test_the_lock_has_a_hash_for_everything_that_is_declared():
    text = (ROOT / ".ci" / "requirements.txt").read_text()
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", text, re.MULTILINE))
    entries = re.split(r"^(?=[\w.-]+==)", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)
    extras = PROJECT["optional-dependencies"]
    needed = [*PROJECT["dependencies"], *extras["dev"]]
    inner = next(line for line in needed if line.startswith("dpcheck["))
    for extra in re.findall(r"\w+", inner.removeprefix("dpcheck")):
        needed += extras[extra]
    names = {re.match(r"[\w.-]+", line)[0].lower() for line in needed} - {"dpcheck"}
    assert names <= set(pinned), "run .ci/lock"
    assert "dpcheck" not in pinned
    assert "http" not in text  # no index of anybody's


def test_the_published_readme_has_no_relative_link():
    text = (ROOT / "README.md").read_text()
    assert links().LINK.search(text)
    published = links().absolute(text, "https://example.org/o/r", "v1")
    assert not links().LINK.search(published)
    assert "](https://example.org/o/r/raw/v1/docs/images/report.png" in published


def test_every_relative_link_of_the_readme_leads_somewhere():
    found = [
        match[3].partition("#")[0]
        for match in links().LINK.finditer((ROOT / "README.md").read_text())
    ]
    assert found
    assert not [path for path in found if not (ROOT / path).exists()]


@pytest.mark.parametrize(
    ("changelog", "code"),
    [
        ("## 1.2.3\n\n- one\n\n## 1.2.2\n\n- two\n", 0),
        ("## 1.2.3 (unreleased)\n\n- one\n", 1),
        ("## 1.2\n", 1),
    ],
)
def test_the_notes_of_a_release_are_its_section(tmp_path, changelog, code):
    (tmp_path / ".ci").mkdir()
    shutil.copy(ROOT / ".ci" / "notes", tmp_path / ".ci")
    (tmp_path / "CHANGELOG.md").write_text(changelog)
    done = subprocess.run([tmp_path / ".ci" / "notes", "v1.2.3"], capture_output=True, text=True)
    assert done.returncode == code
    assert "two" not in done.stdout
    assert ("- one" in done.stdout) == (code == 0)


def test_a_tag_that_is_not_the_version_is_refused():
    script = ROOT / ".ci" / "distributions"
    done = subprocess.run([script, "v9.9.9"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 1
    assert f"the tag is v9.9.9 and dpcheck/__init__.py says {dpcheck.__version__}" in done.stderr


def test_releases_need_no_password_and_run_what_people_run():
    release = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())
    publish = release["jobs"]["publish"]
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["steps"][-1]["with"] == {"attestations": True}
    assert "secrets." not in (ROOT / ".github/workflows/release.yml").read_text()
    run = [step.get("run", "") for job in release["jobs"].values() for step in job["steps"]]
    for script in re.findall(r"\.ci/\w+", " ".join(run)):
        assert (ROOT / script).stat().st_mode & 0o100


@pytest.mark.parametrize(
    "form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda p: p.stem
)
def test_issue_forms_are_forms(form):
    content = yaml.safe_load(form.read_text())
    assert {"name", "description", "body"} <= set(content)
    identifiers = [part["id"] for part in content["body"] if part["type"] != "markdown"]
    assert len(set(identifiers)) == len(identifiers) > 0
