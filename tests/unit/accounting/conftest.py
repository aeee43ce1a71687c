"""Tests that make an accountant lie leave no answer behind, and get none from before."""

import pytest

from dpcheck.accounting.accountants.best import best_epsilon


@pytest.fixture
def monkeypatch(monkeypatch):
    """The same; whatever is patched, no kept answer hides it."""
    patch = monkeypatch.setattr

    def setattr_(*arguments, **options):
        best_epsilon.cache_clear()
        patch(*arguments, **options)

    monkeypatch.setattr = setattr_
    yield monkeypatch
    best_epsilon.cache_clear()
