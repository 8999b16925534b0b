"""A record on which the decoder itself raises is kept, counted and repairable: the pipeline goes on."""

from datetime import UTC, datetime
from typing import Any

import pytest

from local import broker
from spark_jobs import dataflow
from spark_jobs.decode import raised
from spark_jobs.decode.formats import Decoded, Records
from spark_jobs.decode.record_decoder import Prepared, prepare
from tests.harness.scene import Scene
from tests.harness.turns import alike
from tests.spark.test_jvm_decoder import good, hourly
from tests.spark.test_repair import Repairs

pytestmark = alike("records that were put aside come back")

BREAKS = 3
HOUR = datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 1, 1, tzinfo=UTC)


@pytest.fixture
def faulty(monkeypatch):
    """Whether Python's decoder has a fault; it decodes for each run."""
    has = [True]

    class Faulty(Prepared):
        def decoder(self) -> Any:
            made = super().decoder()
            usual = made._value.decode  # noqa: SLF001 - a task makes it itself

            def decode(given: Records) -> Decoded:
                for offset in given.offset.to_pylist():
                    {}[offset] if offset == BREAKS else None
                return usual(given)

            made._value.decode = decode  # noqa: SLF001 - as above
            return made

    def prepared(*given: Any) -> Prepared:
        found = prepare(*given)
        return Faulty(*found) if has[0] else found

    monkeypatch.setattr(dataflow, "prepare", prepared)
    monkeypatch.setattr("spark_jobs.decode.decoder.why_python", lambda *_: "it is asked to")
    return has


def test_its_record_is_kept_and_a_repair_reads_it_once_the_decoder_is_mended(
    kafka, tmp_path, faulty
):
    made = Scene(kafka, tmp_path, hourly(), partitions=1, stores=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(*(good(n) for n in range(10)), b"none", good(200))
    account = made.run("first").account
    assert (account.malformed, account.unaccounted) == (2, 0)
    [kept] = [row for row in made.ops("quarantine") if row["offset"] == BREAKS]
    assert kept["reason"] == "the decoder fails on it: KeyError in decode"
    assert kept["value"] == good(BREAKS)
    assert [row["n"] for row in made.table()] == [9]
    report, _ = Repairs(made).done("verify", *HOUR)
    assert report.change.differs == 0

    faulty[0] = False
    report, _ = Repairs(made).done("replay")
    assert (report.change.changed, report.change.unexplained) == (1, 0)
    assert [row["n"] for row in made.table()] == [10]


@pytest.mark.usefixtures("faulty")
def test_a_drain_whose_decoder_raises_on_many_ends_and_nothing_is_lost(
    kafka, tmp_path, monkeypatch
):
    made = Scene(kafka, tmp_path, hourly(), partitions=1, stores=1)
    broker.create_topic(kafka, made.topic, 1)
    made.send(*(good(n) for n in range(10)), good(200))
    with monkeypatch.context() as strict:
        strict.setattr(raised, "MOST", 0)
        problem = made.drain("first").problem
    assert problem is not None
    assert (problem.code, problem.parameters["kind"]) == ("SPARK_FAILED", "KeyError")
    assert not made.ops("quarantine")
    account = made.run("next").account
    assert (account.malformed, account.rows_out, account.unaccounted) == (1, 1, 0)
