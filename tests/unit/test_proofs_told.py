"""Proofs told: what the published table's properties say of its proved hours, for its readers."""

import json
from datetime import timedelta

import deltalake
import pytest

from spark_jobs.checkpoint.notes.live import refuse_dead
from spark_jobs.prove.covered import tell_proved
from spark_jobs.table.published.commit import PROVED
from spark_jobs.table.published.table import move
from tests.unit.repaired import hour, hours, row
from tests.unit.test_proofs import DAY, HOURLY, NOW, Root, compacted, published, root, verified

__all__ = ["root"]


def said(root: Root) -> list[tuple[int, int, str]]:
    """The first hour, the one behind the last, and the day of each proved span."""
    configured = deltalake.DeltaTable(str(root.paths.published_table)).metadata().configuration
    if PROVED not in configured:
        return []
    told = json.loads(configured[PROVED])
    assert told["column"] == "windowEnd"

    def number(text: str) -> int:
        return (NOW.fromisoformat(text) - DAY) // timedelta(hours=1)

    return [(number(start), number(end), on) for start, end, on in told["spans"]]


@pytest.fixture
def shown(root) -> Root:
    """All rows are published, and all final hours are proved but the last two."""
    published(root)
    moved(root)
    verified(root, hours(0, 1), staged_at=NOW - timedelta(days=3))
    verified(root, hours(2, 3))
    return root


def moved(root: Root) -> None:
    move(root.paths, root.version, refuse_dead)


BEFORE, TODAY = f"{NOW - timedelta(days=3):%F}", f"{NOW:%F}"
BOTH = [(0, 2, BEFORE), (2, 4, TODAY)]


def tell(root: Root) -> bool:
    return tell_proved(HOURLY, root.paths)


def test_the_published_tables_properties_say_which_hours_are_proved_and_when(shown):
    assert said(shown) == []
    assert tell(shown)
    assert said(shown) == BOTH
    assert not tell(shown), "it is said already"
    assert shown.rows_of(shown.paths.published_table) == shown.rows()


def test_hours_that_consumers_were_not_told_of_are_not_told_as_proved(shown):
    shown.paths.events.joinpath(f"{1:012}.json").unlink()
    assert not tell(shown)
    published(shown, 3)
    assert tell(shown)
    assert said(shown) == [(0, 2, BEFORE), (2, 3, TODAY)]


@pytest.mark.parametrize(
    ("change", "left", "later"),
    [
        (lambda root: root.append([row(11, "a")]), BOTH, BOTH),
        (compacted, BOTH, BOTH),
        (lambda root: root.append([row(3, "z")]), BOTH[:1], [*BOTH[:1], (2, 3, TODAY)]),
        (lambda root: root.table.delete(at(3)), BOTH[:1], [*BOTH[:1], (2, 3, TODAY)]),
        (
            lambda root: root.table.update({"sales": "7"}, predicate=at(0)),
            BOTH[1:],
            [(1, 2, BEFORE), *BOTH[1:]],
        ),
    ],
    ids=["another hour", "other files", "added", "removed", "changed"],
)
def test_the_commit_that_shows_changed_rows_takes_what_was_said_of_them(shown, change, left, later):
    tell(shown)
    change(shown)
    assert said(shown) == BOTH, "readers see the rows of before"
    moved(shown)
    assert said(shown) == left
    assert shown.rows_of(shown.paths.published_table) == shown.rows()
    tell(shown)
    assert said(shown) == later, "what is proved still"


def at(number: int) -> str:
    return f"windowEnd = '{hour(number).isoformat()}'"


def test_rows_that_are_changed_and_not_published_yet_are_not_told_as_proved(shown):
    shown.append([row(3, "z")])
    verified(shown, hours(2, 3), staged_at=NOW)
    assert tell(shown)
    assert said(shown) == BOTH[:1], "proved with a row that readers do not see"
    moved(shown)
    assert tell(shown)
    assert said(shown) == BOTH


def test_another_table_that_is_shown_has_nothing_of_it(shown):
    tell(shown)
    shown.identified("g1", table_id="another", fingerprint=shown.identity.fingerprint)
    assert tell(shown)
    assert said(shown) == []
