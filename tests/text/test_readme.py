"""The documents are what a newcomer trusts: their paths, links and make targets exist.
test_examples.py runs their code.
"""

import re
from pathlib import Path

import pytest

from spark_jobs.settings.installation import REPO
from tests.text.shell import TARGETS

CONTRIBUTING = (REPO / "CONTRIBUTING.md").read_text()
DOCUMENTS = [*REPO.glob("*.md"), *(REPO / "docs").glob("*.md")]
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)


def test_every_make_target_that_the_documents_name_in_a_sentence_exists():
    named = {
        name for path in DOCUMENTS for name in re.findall(r"`make ([a-z-]+)", path.read_text())
    }
    assert {"demo", "test"} <= named <= TARGETS


def test_every_path_in_the_layout_exists():
    layout = CONTRIBUTING.split("## Layout")[1].split("```")[1]
    folder = Path()
    for line in layout.strip().splitlines():
        name = line.split()[0]
        folder = folder if line.startswith(" ") else Path(name)
        path = REPO / (folder / name if line.startswith(" ") else name)
        assert path.is_dir(), path


def test_every_file_that_a_change_belongs_to_exists():
    table = CONTRIBUTING.split("## Where a change belongs")[1].split("\n## ")[0]
    named = re.findall(r"`([a-z_/]+(?:\.py|\.md|/))`", table)
    assert len(named) > 20
    assert [
        name
        for name in named
        if not any((REPO / start / name).exists() for start in ("", "spark_jobs"))
    ] == []


def anchors(path: Path) -> set[str]:
    """The headings of a page as GitHub links to them."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", path.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_of_a_document_leads_to_a_file_and_a_heading_that_are_there(path):
    for link in re.findall(r"\]\(([^)\s]+)\)", FENCE.sub("", path.read_text())):
        if "://" not in link:
            name, _, anchor = link.partition("#")
            target = (path.parent / name) if name else path
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_the_package_says_its_licence():
    assert "Apache License" in (REPO / "LICENSE").read_text()
    assert 'license = "Apache-2.0"' in (REPO / "pyproject.toml").read_text()


def test_every_page_that_the_code_names_is_there():
    code = [
        *(path for folder in ("spark_jobs", "plugins", "local", "tests", "bench", "docker")
          for path in (REPO / folder).rglob("*") if path.suffix in {"", ".py", ".java", ".html"}),
        *(REPO / name for name in ("Makefile", "Dockerfile", "docker-compose.yml")),
    ]  # fmt: skip
    named = {
        name
        for path in code
        if path.is_file()
        for name in re.findall(r"\bdocs/[a-z-]+\.md\b", path.read_text())
    }
    assert {name for name in named if not (REPO / name).exists()} == set()


def test_every_test_that_a_page_names_is_there():
    """A promise whose test is gone is held by nobody."""
    named = {
        name
        for path in DOCUMENTS
        for name in re.findall(r"`(?:tests/)?([a-z0-9_]+/test_[a-z_]+\.py)`", path.read_text())
    }
    assert len(named) > 50
    assert {name for name in named if not (REPO / "tests" / name).exists()} == set()
