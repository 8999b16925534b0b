"""Offsets at which a drain found no record, and what is read at once. tests/spark asks a broker."""

from inspect import signature

import pytest

from spark_jobs.source.kafka import KafkaSource, rounds
from spark_jobs.source.place import Place
from spark_jobs.source.port import Sampled, Source
from tests.unit.specs import pipeline

PLACES = [Place(0, 3), Place(0, 4), Place(1, 3)]


class Told(KafkaSource):
    """Partition 0 has a record of an aborted transaction at offset 3, which no drain reads."""

    is_compacted = False

    def sampled(self, parts, *, uncommitted=False):
        assert parts == {0: ((3, 5),), 1: ((3, 4),)}
        return iter([Sampled(0, 3, None, None, b"")] if uncommitted else [])

    def compacted(self):
        return self.is_compacted


@pytest.mark.parametrize(("compacted", "other"), [(False, "marker"), (True, "removed")])
def test_an_offset_without_a_record_is_of_a_transaction_or_was_compacted(
    monkeypatch, compacted, other
):
    monkeypatch.setattr(Told, "is_compacted", compacted)
    found = Told(pipeline(), None).gaps(PLACES)
    assert [found[place].kind for place in PLACES] == ["aborted", other, other]


def test_where_there_is_no_gap_no_broker_is_asked():
    nowhere = KafkaSource(pipeline(), None)
    assert (nowhere.gaps([]), nowhere.topic) == ({}, pipeline().topic)


def test_a_read_has_one_range_of_a_partition():
    of_two = rounds({0: ((0, 5), (7, 8), (9, 10)), 1: ((2, 3),)})
    assert of_two == [{0: (0, 5), 1: (2, 3)}, {0: (7, 8)}, {0: (9, 10)}]
    assert rounds({}) == []


@pytest.mark.parametrize("question", ["read", "sampled"])
def test_it_is_asked_as_the_port_says(question):
    assert signature(getattr(KafkaSource, question)) == signature(getattr(Source, question))
