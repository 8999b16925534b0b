"""Provable: until when the hours of a real root can be proved, by what the source keeps."""

from datetime import UTC, datetime, timedelta

import deltalake
import pyarrow as pa
import pytest

from spark_jobs.prove.covered import Held, covered
from spark_jobs.repair.offsets.archived import archive_paths, kept_until
from spark_jobs.source.port import Lasting, Leaving
from spark_jobs.source.positions import Positions
from spark_jobs.spec import Archive, Ranges
from spark_jobs.spec.analysis import ranged as analysis
from spark_jobs.spec.inputs import Topics
from spark_jobs.storage.root.store import opened
from tests.harness.sources import Said
from tests.unit.repaired import FINAL, POSITION, SPEC, add_late, ten_hours
from tests.unit.specs import topic
from tests.unit.test_coverage import sliced

HOURLY = SPEC.model_copy(update={"ranges": Ranges(every="hour")})
NOW = datetime(2026, 3, 5, 12, tzinfo=UTC)
SOONER = [0, 0, 0, 1, 2, 3]
"""The first offset that a verify of each final hour needs: copies come two hours before it."""


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setattr(analysis, "position_of", lambda _: POSITION)
    return sliced(ten_hours(tmp_path))


def held(leaves, earliest=0) -> Held:
    return Held.by(Said(dict, leaves=leaves), Positions({0: earliest}), NOW)


def an_offset_a_day(partitions, times):
    """Of now all offsets stay, and each midnight one more may go."""
    return Leaving(tuple(Positions({0: number}) for number, _ in enumerate(times)))


def until(root, given) -> list[datetime | None]:
    found = covered(HOURLY, root.paths, given).intervals
    assert [each.provable_until for each in found[FINAL:]] == [None] * 4, "drains write them"
    return [each.provable_until for each in found[:FINAL]]


def test_an_hour_is_provable_until_the_last_midnight_at_which_all_its_records_are_there(root):
    times = [NOW, *(datetime(2026, 3, 6, tzinfo=UTC) + timedelta(days=n) for n in range(3))]
    assert until(root, held(an_offset_a_day)) == [times[first] for first in SOONER]


def test_an_hour_that_a_late_record_waits_for_is_told_too(root):
    add_late(root, (7, 3.5))
    assert all(until(root, held(an_offset_a_day)))


def test_what_stays_for_longer_is_not_told(root):
    assert until(root, held(Lasting().leaving)) == [None] * FINAL
    assert until(root, None) == [None] * FINAL

    def late(partitions, times):
        """The last of the coming days takes three offsets."""
        return Leaving((*[Positions()] * (len(times) - 1), Positions({0: 3})))

    last = datetime(2026, 4, 3, tzinfo=UTC)
    assert until(root, held(late)) == [last] * 5 + [None]


def test_an_hour_whose_records_are_gone_today_is_provable_no_more(root):
    found = until(root, held(an_offset_a_day, earliest=1))
    assert found[:3] == [NOW] * 3, "they may have gone at any moment"
    assert found[3] > NOW


def test_where_nobody_can_tell_no_day_is_guessed(root):
    def untold(partitions, times):
        return Leaving.not_told("Kafka compacts topic sales", partitions, times)

    found = covered(HOURLY, root.paths, held(untold))
    assert found.untold == "Kafka compacts topic sales"
    assert [each.untold for each in found.intervals] == [True] * FINAL + [False] * 4
    assert {each.provable_until for each in found.intervals} == {None}


def test_an_archive_leaves_what_its_keep_does_at_each_time(tmp_path):
    sales = topic(archive=Archive(keep="100 days"))
    ages = (101.5, 99.5, 99.5, None, 99.5, 50.0, 99.9)
    rows = [
        {"topic_id": "t1", "partition": 3, "offset": offset, "kafka_timestamp": at}
        for offset, at in enumerate(age and NOW - timedelta(days=age) for age in ages)
    ]
    rows += [each | {"topic_id": "before", "offset": 0} for each in rows]
    where = archive_paths(opened(str(tmp_path)), sales).table
    stored = pa.schema(
        [
            ("topic_id", pa.string()),
            ("partition", pa.int32()),
            ("offset", pa.int64()),
            ("kafka_timestamp", pa.timestamp("us", "UTC")),
        ]
    )
    deltalake.write_deltalake(str(where), pa.Table.from_pylist(rows, stored))
    times = [NOW + timedelta(days=days) for days in (0, 1, 60)]
    told = kept_until(opened(str(tmp_path)), Topics([sales]), "t1", times)
    assert [each[3] for each in told] == [((0, 1),), ((0, 3),), ((0, 3),)], "no time: it stays"
    forever = topic(archive=Archive(keep=None))
    assert kept_until(opened(str(tmp_path)), Topics([forever]), "t1", times) == ({}, {}, {})
    assert kept_until(opened(str(tmp_path)), Topics([topic()]), "t1", times) == ({}, {}, {})
