"""Records that are read again without Spark: the asked ones, and copies of them alone."""

import json
from datetime import UTC, datetime

from spark_jobs.source.place import Place
from spark_jobs.source.port import Sampled
from spark_jobs.values.numbering import numbered_in
from spark_jobs.where.again import decoded
from spark_jobs.where.ask import DROPPED, deduplicates
from tests.unit.specs import TWO_APART, deduplicate, pipeline, topic

AT = datetime(2026, 3, 1, 12, tzinfo=UTC).isoformat()


def sale(id_, **more):
    return {"id": id_, "at": AT, "shop": "s"} | more


def read(spec, values, asked, copies=True):
    """What is told, by partition and offset: `values` are those of each partition."""
    sample = [
        Sampled(partition, offset, 0, None, None if value is None else json.dumps(value).encode())
        for partition, of_it in values.items()
        for offset, value in enumerate(of_it)
    ]
    step = deduplicates(spec) if copies else None
    return decoded(spec, None, "", sample, [Place(*each) for each in asked], step)


def test_only_the_asked_ones_and_copies_of_them_are_told():
    here = [sale("a"), sale("b"), sale("a", amount=2), {"id": "a"}, sale("c"), sale(None)]
    spec = pipeline(steps=(deduplicate(),))
    told = read(spec, {0: here, 1: [sale("a"), sale("b")]}, [(0, 0), (0, 3)])
    assert {*told} == {(0, 0, -1), (0, 2, -1), (0, 3, -1), (1, 0, -1)}
    assert [told[Place(0, n)].reached for n in (0, 3)] == [0, DROPPED]
    assert "at" in (told[Place(0, 3)].why or "")
    assert {*read(spec, {0: here}, [(0, 3)])} == {(0, 3, -1)}, "nothing of it is in another"
    assert {*read(spec, {0: here}, [(0, 0)], copies=False)} == {(0, 0, -1)}


def test_of_several_topics_each_record_has_the_columns_of_all():
    spec = pipeline(**TWO_APART)
    there = numbered_in(1, 0)
    paid = {there: [{"id": "a", "at": AT, "paid": 1.5}]}
    assert {*read(spec, {0: [sale("a")]} | paid, [(there, 0)])} == {(0, 0, -1), (there, 0, -1)}
    told = read(spec, {0: [sale("b")]} | paid, [(there, 0)])
    assert {*told} == {(there, 0, -1)}, "none of the first topic"
    row = told[Place(there, 0)].row
    assert (row["id"], row["paid"], row["shop"], row["topic"]) == ("a", 1.5, None, "us")


def test_of_a_value_with_many_each_element_is_told_and_none_of_an_empty_one():
    spec = pipeline(topic=topic(each="[]", tombstones="dropped"), steps=(deduplicate(),))
    told = read(spec, {0: [[sale("a"), sale("b"), {}], [], None, {}]}, [(0, n) for n in range(4)])
    assert {place: (each.reached, bool(each.why)) for place, each in told.items()} == {
        (0, 0, 0): (0, False), (0, 0, 1): (0, False), (0, 0, 2): (DROPPED, True),
        (0, 1, -1): (DROPPED, False), (0, 2, -1): (DROPPED, False), (0, 3, -1): (DROPPED, True),
    }  # fmt: skip
