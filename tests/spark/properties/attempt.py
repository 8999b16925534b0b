"""A form tried on a case: sent, drained and compared, run by run."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hypothesis import event
from pyspark.sql import SparkSession

from tests.harness.compare import assert_same
from tests.spark.properties.case import Case, Drain
from tests.spark.properties.exact import assert_exact
from tests.spark.properties.forms import Form
from tests.spark.properties.held import assert_held
from tests.spark.properties.scene import Scene


class Attempt(NamedTuple):
    """`thorough` reads Spark's state after every run, which costs half a drain."""

    kafka: str
    spark: SparkSession
    folder: Callable[[], Path]
    thorough: bool

    def on(self, form: Form, case: Case) -> None:
        """In each of the case's batchings; of several, their tables are held against each other."""
        tables = []
        late = False
        for batching in case.batchings:
            folder = self.folder()
            scene = Scene(self.kafka, folder, form.spec(case.delay, case.state), case.partitions)
            late |= self._run(scene, form, case, batching)
            tables.append(scene.table())
            event(f"{scene.runs} runs, {len(scene.ops('batches'))} batches")
            shutil.rmtree(folder)
        event(f"late: {late}")
        assert not (late and case.in_order and case.after_the_epoch), (
            "late, though it came no later than the delay allows"
        )
        for table in [] if late else tables[1:]:
            assert_same(table, tables[0], "the table of another batching")

    def _run(self, scene: Scene, form: Form, case: Case, batching: tuple[Drain, ...]) -> bool:
        """True where anything was late."""
        sent = 0
        late = []
        crashed = batching[-1].crash != "none"
        drains = [*batching, *([Drain(len(case.records))] if crashed else [])]
        for number, drain in enumerate(drains, 1):
            scene.send(case.records[sent : drain.upto])
            sent = drain.upto
            report = scene.drain(drain.most)
            assert report.status == "succeeded", report.problem
            late = assert_exact(scene, case, form, sent)
            if self.thorough or number == len(drains):
                assert_held(scene, self.spark, case, form)
            scene.crash(drain.crash)
        return bool(late)
