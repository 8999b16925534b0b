"""From where a run looks for its end, and which end it goes on to: by the note of runs before."""

from typing import NamedTuple

import pytest

from spark_jobs.messages.part import UpTo
from spark_jobs.runs.preflight import cut
from spark_jobs.source.positions import Positions
from spark_jobs.transactions import Transactions
from spark_jobs.transactions.cut import Change
from spark_jobs.transactions.transaction_ends import (
    TransactionEnds,
    Whole,
    WholeEnds,
    note_of,
    read_whole,
)
from spark_jobs.transactions.view import Mark, Told
from tests.unit import specs
from tests.unit.test_plan import Installation, installation

__all__ = ["installation"]
SALES = specs.topic(name="eu.sales", envelope="debezium")
SPEC = specs.pipeline(topic=SALES, publish_at=Transactions(topic="eu.transaction"))
A = UpTo(topic="eu.transaction", offset=1, id="a")


class Logs(NamedTuple):
    """Transaction a, of a change in each of two partitions; b, of which one partition has none; one
    change of each in a partition. See View."""

    id: str = "T"

    def told(self) -> Told:
        return Told(self.id, 0, 4)

    def marks(self, first: int, end: int) -> list[Mark]:
        counts = {"sales": 2}
        told = [("a", None), ("a", counts), ("b", None), ("b", counts)]
        return [Mark(id_, at, 0, of) for at, (id_, of) in enumerate(told)][first:end]

    def changes(self, ranges) -> dict[int, list[Change]]:
        has = {
            0: [Change(0, "a", 1, 0), Change(1, "b", 1, 0)],
            1: [Change(0, "a", 2, 0), Change(1, "b", 2, 0)],
        }
        return {p: has[p][first:end] for p, (first, end) in ranges.items()}


def noted(paths, behind: int = 2, **offsets: int) -> None:
    ends = {int(name[1:]): at for name, at in offsets.items()}
    end = Whole(offsets=Positions(ends), unread=(), topic_id="T", behind=behind, up_to=A)
    WholeEnds(ends=(end,)).write(note_of(paths))


class ByLogs(TransactionEnds):
    logs: Logs | None

    def cut(self, state, done, _):
        return self.cut_by(state, done, self.logs)


def ended(installation: Installation, logs: Logs | None):
    ends = ByLogs(SPEC, installation.paths)
    ends.logs = logs
    return cut(installation.preflight(), ends, installation.settings)


def test_without_a_note_it_looks_from_where_the_topic_begins(installation):
    installation.holds({0: 2, 1: 1})
    found, end = ended(installation, Logs())
    assert found.topic.latest == end.offsets == Positions({0: 1, 1: 1})
    assert (end.behind, end.up_to, end.unread) == (2, A, ())
    [held] = found.topic.held.items()
    assert (held[0], held[1].first, held[1].offsets, held[1].transaction) == (0, 1, 1, "b")


@pytest.mark.parametrize("done", [{0: 0, 1: 0}, {0: 1, 1: 0}])
def test_an_end_that_is_not_reached_is_the_next_one_behind_a_kill_and_a_rewind(installation, done):
    installation.holds({0: 2, 1: 2})
    installation.has_drained(done, judged=0)
    noted(installation.paths, p0=1, p1=1)
    found, end = ended(installation, Logs())
    assert found.topic.latest == Positions({0: 1, 1: 1})
    assert end == WholeEnds.read(note_of(installation.paths)).last


def test_from_an_end_only_later_transactions_are_looked_for(installation):
    installation.holds({0: 2, 1: 1})
    installation.has_drained({0: 1, 1: 1}, judged=0)
    noted(installation.paths, p0=1, p1=1)
    found, end = ended(installation, Logs())
    assert found.topic.latest == Positions({0: 1, 1: 1})
    assert (end.behind, end.up_to) == (2, A)
    installation.holds({0: 2, 1: 2})
    found, end = ended(installation, Logs())
    assert found.topic.latest == Positions({0: 2, 1: 2})
    assert end.up_to.id == "b"


@pytest.mark.parametrize(("done", "topic_id"), [({0: 2, 1: 1}, "T"), ({0: 1, 1: 1}, "made anew")])
def test_a_note_of_other_offsets_or_of_another_transaction_topic_counts_for_nothing(
    installation, done, topic_id
):
    installation.holds({0: 2, 1: 2})
    installation.has_drained(done, judged=0)
    noted(installation.paths, p0=1, p1=1)
    found, end = ended(installation, Logs(topic_id))
    assert found.topic.latest == Positions({0: 2, 1: 2}), "what was read of b before is not missed"
    assert end.topic_id == topic_id


def test_where_nothing_is_new_nothing_is_looked_at(installation):
    installation.holds({0: 1, 1: 1})
    installation.has_drained({0: 1, 1: 1}, judged=0)
    noted(installation.paths, p0=1, p1=1)
    found, end = ended(installation, None)
    assert found.topic.latest == end.offsets == Positions({0: 1, 1: 1})


def test_a_run_that_reads_nothing_notes_no_end_amid_a_transaction(installation):
    """An earlier run without publish_at has read b in part, and its END is not there."""
    installation.holds({0: 2, 1: 1})
    installation.has_drained({0: 2, 1: 1}, judged=0)
    found, end = ended(installation, Logs())
    assert end is None
    assert found.topic.latest == Positions({0: 2, 1: 1})
    installation.holds({0: 2, 1: 2})
    found, end = ended(installation, Logs())
    assert found.topic.latest == end.offsets == Positions({0: 2, 1: 2})
    assert end.up_to.id == "b"


def test_a_partition_that_is_made_amid_a_run_is_at_the_same_end(installation):
    installation.holds({0: 1, 1: 0})
    installation.has_drained({0: 1, 1: 0}, judged=0)
    noted(installation.paths, p0=1)
    _, end = ended(installation, None)
    assert end == WholeEnds.read(note_of(installation.paths)).last


def test_a_note_that_does_not_parse_counts_for_nothing_and_is_written_anew(installation):
    installation.holds({0: 2, 1: 2})
    installation.has_drained({0: 1, 1: 1}, judged=0)
    note_of(installation.paths).write_text("{")
    found, end = ended(installation, Logs())
    assert found.topic.latest == end.offsets == Positions({0: 2, 1: 2})
    read_whole(installation.paths).note(end, installation.paths, None)
    assert WholeEnds.read(note_of(installation.paths)).last == end


def test_a_note_behind_what_the_transaction_topic_has_counts_for_nothing(installation):
    """Its brokers have lost records: new ones have the offsets of these."""
    installation.holds({0: 2, 1: 2})
    installation.has_drained({0: 1, 1: 1}, judged=0)
    noted(installation.paths, behind=9, p0=1, p1=1)
    found, end = ended(installation, Logs())
    assert found.topic.latest == Positions({0: 2, 1: 2})
    assert end.behind == 4
