"""A broker of its own, as the end-to-end tests have it."""

from tests.e2e.conftest import kafka, monkeypatch_module

__all__ = ["kafka", "monkeypatch_module"]
