"""What a pipeline's own code does wrong: one error with code, place and remedy, no commit."""

import importlib
import re
import sys
from collections import Counter
from importlib import import_module

import pytest
from pyspark import cloudpickle

from spark_jobs.errors import (
    InitialStateMissing,
    ProcessorFailed,
    SluiceError,
    SpecInvalid,
    StateIncompatible,
    StateMisused,
)
from spark_jobs.spec import Deduplicate, Field, GroupState, Pipeline, State, Transform
from spark_jobs.storage import failpoint
from spark_jobs.topics.flights import FLIGHTS
from tests.harness.crash import over
from tests.harness.long_form import long_form
from tests.harness.refused import because, has
from tests.harness.roots import ROOT
from tests.harness.scene import Scene
from tests.harness.turns import alike

CARRIER = (Field(name="carrier", type="string"),)
N = (Field(name="n", type="bigint"),)
pytestmark = pytest.mark.usefixtures("examples")


@pytest.fixture(scope="module")
def delivered(kafka, tmp_path_factory) -> Scene:
    """A topic with a delivery."""
    made = Scene(
        kafka, tmp_path_factory.mktemp("delivered"), "flight_events", events=200, deliveries=1
    )
    made.deliver_all()
    return made


def refused(made: Scene, kind: type[SluiceError], reason: str, told: dict[str, str | has]) -> None:
    problem = made.drain().problem
    because(problem, kind, reason, **told)
    assert "\n" not in str(problem.error())
    if made.paths.table.exists():
        assert made.table() == []


def at(method: str, said: str, **more) -> tuple:
    """What code in logic.py raised."""
    where = has("misuses/logic.py line ", f", in {method}")
    return ProcessorFailed, "code_raised_in_batch", {"where": where, "said": has(said), **more}


def misused(name: str, **more) -> tuple:
    return StateMisused, "misused", {"name": name, "where": has("misuses"), **more}


TO_COMPATIBLE = {"resume": has("to compatible_logic in spec.py")}


def misusing(processor: str, **changes) -> Pipeline:
    step = GroupState(**{"processor": processor, "keys": ("carrier",), "output": CARRIER} | changes)
    return Pipeline(
        name="misuses",
        about="misuses",
        topic=FLIGHTS,
        watermark_delay="2 hours",
        steps=(step,),
        state=State(budget_rows=100, shuffle_partitions=1),
    )


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (misusing("Raises"), at("handleInputRows", "KeyError: 'boom'", resume=has("Then run `sluice drain misuses`: nothing of the failed batch was committed."))),
        pytest.param(misusing("RaisesInTimer", time_mode="processing"), at("handleExpiredTimer", "TypeError: object of type 'int'", **TO_COMPATIBLE), marks=long_form),
        (misusing("RaisesInInit", form="pandas"), at("init", "KeyError: 'boom'", **TO_COMPATIBLE)),
        pytest.param(misusing("RaisesInClose"), at("close", "KeyError: 'boom'", **TO_COMPATIBLE), marks=long_form),
        (misusing("YieldsText"), (ProcessorFailed, "code_raised_in_batch", {"where": "what the code of misuses returned", "said": has("AttributeError: 'str' object"), **TO_COMPATIBLE})),
        (misusing("TakesLess", form="pandas"), (ProcessorFailed, "signature_unfit", {"handler": has("misuses/logic.py line "), "name": "handleInputRows", "signature": has("(_rows)"), **TO_COMPATIBLE})),
        (misusing("takes_less", form="apply", state=N), (ProcessorFailed, "signature_unfit", {"handler": has("misuses/logic.py line "), "name": "takes_less", "signature": has("(key"), **TO_COMPATIBLE})),
        pytest.param(misusing("SetsNothing"), (StateMisused, "none_as_value", {}), marks=long_form),
        (misusing("TtlByEventTime"), misused("STATEFUL_PROCESSOR_INCORRECT_TIME_MODE_TO_ASSIGN_TTL")),
        pytest.param(misusing("SetsTimer", time_mode="none"), misused("STATEFUL_PROCESSOR_CANNOT_PERFORM_OPERATION_WITH_INVALID_TIME_MODE"), marks=long_form),
        (misusing("set_nothing", form="apply", state=N), misused("CANNOT_BE_NONE")),
        pytest.param(misusing("set_duration", form="apply", state=N), misused("CANNOT_WITHOUT"), marks=long_form),
        pytest.param(misusing("set_timestamp", form="apply", state=N, time_mode="processing"), misused("CANNOT_WITHOUT"), marks=long_form),
        (misusing("set_timestamp", form="apply", state=N), misused("INVALID_TIMEOUT_TIMESTAMP")),
        (misusing("Missing"), (SpecInvalid, "logic_absent", {"pipeline": "misuses", "name": "Missing"})),
        (misusing("SetsTimer", initial_state="nowhere"), (InitialStateMissing, "initial_table_absent", {"path": has("tables/nowhere")})),
    ],
    ids=lambda value: value.steps[0].processor if isinstance(value, Pipeline) else "",
)  # fmt: skip
def test_it_is_one_error_that_names_the_place_and_the_remedy(delivered, tmp_path, spec, expected):
    made = over(delivered, tmp_path, spec)
    made.change(max_offsets_per_batch=100)  # what is behind the watermark is so in the second batch
    refused(made, *expected)


COUNTS = """
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import LongType, StructField, StructType


class Counts(StatefulProcessor):
    def init(self, handle):
        self._n = handle.getValueState("n", StructType([StructField("n", LongType())]))

    def handleInputRows(self, key, rows, timerValues):
        before = self._n.get()[0] if self._n.exists() else 0
        {wrong}
        n = before + sum(1 for _ in rows)
        self._n.update((n,))
        yield Row(carrier=key[0], n=n)

    def close(self):
        pass
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes a logic.py whose classes go to Spark's workers, which have no such package."""
    name = f"edited_{tmp_path.name}"
    (folder := tmp_path / name / "misuses").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("SLUICE_PIPELINES", name)

    def written(text: str) -> None:
        (folder / "logic.py").write_text(text)
        for module in [each for each in sys.modules if each.startswith(name)]:
            monkeypatch.delitem(sys.modules, module)
        importlib.invalidate_caches()
        cloudpickle.register_pickle_by_value(import_module(f"{name}.misuses.logic"))

    return written


@alike("code that is corrected")
def test_code_that_fails_in_a_later_batch_counts_what_came_before_and_goes_on_when_corrected(
    delivered, tmp_path, write
):
    spec = misusing("Counts", time_mode="none", output=(*CARRIER, *N))
    made = over(delivered, tmp_path / ROOT, spec)
    made.change(max_offsets_per_batch=100)
    write(COUNTS.format(wrong="assert not before"))
    failed = made.drain("failed")
    assert failed.problem.code == "PROCESSOR_FAILED"
    [batch] = made.ops("batches")
    assert (failed.batches, failed.account.read) == ((0,), batch["read"])
    assert failed.account.rows_out == len(made.table()) > 0
    assert batch["read"] > 0
    assert failed.table_version is None

    write(COUNTS.format(wrong="# corrected: before may be there\n        before += 0"))
    [digest] = re.findall(r"add ('\S+') to compatible_logic", failed.problem.parameters["resume"])
    declare = has(f"add {digest} to compatible_logic")
    because(made.drain("refused").problem, StateIncompatible, "spec_changed", declare=declare)

    made.change(compatible_logic=(digest.strip("'"),))
    mended = made.run("mended")
    assert mended.recovered == ()
    counts = Counter(
        row["carrier"]
        for row in made.ledger.to_pylist()
        if row["kind"] in {"good", "duplicate", "late"}
    )
    totals: dict[str, int] = {}
    for row in made.table():
        totals[row["carrier"]] = max(row["n"], totals.get(row["carrier"], 0))
    assert totals == counts
    assert failed.account.read + mended.account.read == made.ledger.num_rows


def test_a_time_out_fires_on_a_key_whose_state_was_never_set(delivered, tmp_path):
    made = over(delivered, tmp_path, misusing("only_waits", form="apply", state=N))
    report = made.run()
    carriers = {
        row["carrier"] for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"}
    }
    assert sorted(row["carrier"] for row in made.table()) == sorted(carriers)
    assert report.state.rows == 0


@pytest.mark.parametrize(
    ("step", "reason", "told"),
    [
        (Transform(sql="SELECT * FROM rows LIMIT 5"), "transform_with_state", {"why": has("max_offsets_per_batch and max_batches")}),
        (Transform(sql="SELECT DISTINCT * FROM rows"), "transform_with_state", {"why": has("use the step Deduplicate")}),
        (Transform(sql="SELECT carrier, count(*) AS n FROM rows GROUP BY carrier"), "transform_with_state", {"why": has("use the step Aggregate")}),
        (Transform(sql="SELECT carrier, event_time FROM rows"), "transform_loses_column", {"name": "kafka"}),
        (Transform(sql="SELECT *, explode(array(1, 2)) AS n FROM rows"), "transform_makes_rows", {}),
        (Transform(sql="SELECT nonsense FROM rows"), "transform_failed", {"error": has("nonsense")}),
        (Transform(function="nowhere"), "logic_absent", {"name": "nowhere"}),
    ],
    ids=lambda value: value.sql or value.function if isinstance(value, Transform) else "",
)  # fmt: skip
def test_a_transform_that_keeps_state_or_loses_track_of_records_is_refused(
    delivered, tmp_path, step, reason, told
):
    usual = {"name": "carrier_days", "about": "x", "topic": FLIGHTS, "watermark_delay": "2 hours"}
    spec = Pipeline(**usual, steps=(step, Deduplicate(keys=("carrier",))))
    refused(over(delivered, tmp_path, spec), SpecInvalid, reason, told)


def test_state_may_begin_with_what_a_delta_table_holds(scene, spark):
    made = scene(
        import_module("tests.pipelines.carrier_totals.spec").SPEC, events=300, deliveries=2
    )
    made.change(steps=(made.spec.steps[0].model_copy(update={"initial_state": "before"}),))
    before = {"AA": (1000, 5), "ZZ": (7, 7)}
    rows = [(carrier, *totals) for carrier, totals in before.items()]
    spark.createDataFrame(rows, "carrier string, events bigint, miles bigint").write.format(
        "delta"
    ).save(str(made.paths.root / "tables" / "before"))
    for number in range(2):
        made.deliver()
        made.run(f"run-{number}")
    seen = [
        row["carrier"] for row in made.ledger.to_pylist() if row["kind"] in {"good", "duplicate"}
    ]
    assert {row["carrier"]: row["events"] for row in made.table()} == {
        carrier: seen.count(carrier) + before.get(carrier, (0, 0))[0] for carrier in set(seen)
    }


@alike("code that is corrected")
def test_a_batch_that_is_in_the_table_and_not_in_the_state_is_not_made_again_by_other_code(
    delivered, tmp_path, write, monkeypatch
):
    made = over(
        delivered, tmp_path / ROOT, misusing("Counts", time_mode="none", output=(*CARRIER, *N))
    )
    write(COUNTS.format(wrong="pass"))
    with monkeypatch.context() as killed:
        killed.setitem(failpoint.ACTIVE, "table.committed", "raise")
        assert made.drain("killed").problem is not None
    write(COUNTS.format(wrong="before += 1"))
    undeclared = made.drain("undeclared").problem.parameters["declare"]
    [digest] = re.findall(r"add ('\S+') to compatible_logic", undeclared)
    made.change(compatible_logic=(digest.strip("'"),))
    problem = made.drain("declared").problem
    because(problem, StateIncompatible, "batch_half_done", what="code")
    write(COUNTS.format(wrong="pass"))
    made.run("as before")
    write(COUNTS.format(wrong="before += 1"))
    made.run("then changed")
