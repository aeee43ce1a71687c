"""The recipes for CI: a cache is believed, so none is restored that a fork could have written."""

import re
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
PAGE = (ROOT / "docs" / "howto" / "ci.md").read_text(encoding="utf-8")


def recipes():
    """Every YAML block of the page, and the Action."""
    blocks = [yaml.safe_load(text) for text in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)]
    return [*blocks, yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))]


def steps(recipe):
    if not isinstance(recipe, dict):
        return []
    jobs = [*recipe.get("jobs", {}).values(), recipe.get("runs", {})]
    return [step for job in jobs for step in job.get("steps", [])]


def test_github_restores_a_cache_for_pushes_and_nights_only():
    found = [
        step for recipe in recipes() for step in steps(recipe) if "cache" in step.get("uses", "")
    ]
    assert found
    for step in found:
        events = re.findall(r"event_name == '(\w+)'", step["if"])
        assert set(events) == {"push", "schedule"}
        assert "!=" not in step["if"]


def test_gitlab_has_a_cache_on_protected_branches_only():
    jobs = [
        job
        for recipe in recipes()
        if isinstance(recipe, dict)
        for job in recipe.values()
        if isinstance(job, dict) and "cache" in job
    ]
    assert jobs
    for job in jobs:
        assert job["rules"] == [{"if": '$CI_COMMIT_REF_PROTECTED == "true"'}]
        assert job["cache"]["key"].endswith("-protected")


def test_the_page_says_that_the_cache_is_trusted():
    assert "The cache is trusted" in PAGE
