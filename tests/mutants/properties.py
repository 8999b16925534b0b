"""Mutants that generated cases must see. See mutant.py."""

from tests.mutants.mutant import Mutant


def _case(form: str) -> str:
    return f"tests/spark/properties/test_batchings.py::test_the_batching_gives_the_canonical_result_less_what_was_late[{form}]"


MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        breaks="A Deduplicate over whole rows forgets a row at its event time, and not the delay later",
        file="spark_jobs/steps/deduplicate.py",
        old='(keys)\n            if self.step.scope == "watermark"\n',
        new='(keys)\n            if self.step.scope == "watermark" and keys\n',
        test=_case("deduplicate, by *, watermark, one batch"),
    ),
    Mutant(
        breaks="A batch that is in the table already is not run again for its state",
        file="spark_jobs/sink/writer.py",
        old='            batch.write.format("noop").mode("append").save()\n',
        new="            pass\n",
        test=_case("deduplicate, by event_id event_time, event_time, two runs"),
    ),
    Mutant(
        breaks="What Spark drops from a session in complete mode is taken for accepted",
        file="spark_jobs/steps/aggregate.py",
        old="if mode_facts(output_mode).keeps_all_state and not isinstance(window, Session):",
        new="if mode_facts(output_mode).keeps_all_state:",
        test=_case("aggregate, complete, sessions of 10 minutes by key, three batches and a crash"),
    ),
    Mutant(
        breaks="Lateness in sliding windows is judged by the window before a record's first",
        file="spark_jobs/steps/aggregate.py",
        old="F.lit(slide_us + size_us)",
        new="F.lit(size_us)",
        test=_case("aggregate, update, 1 hour each 25 minutes by key, three batches and a crash"),
    ),
    Mutant(
        breaks="No record is late for a GroupState in event time",
        file="spark_jobs/steps/group_state.py",
        old='F.col(event_time) <= late_before if self.step.time_mode == "event" else F.lit(False)',
        new="F.lit(False)",
        test=_case("group state, running totals, two runs"),
    ),
    Mutant(
        breaks="Records that a filter left out are accounted for as accepted",
        file="spark_jobs/classify/classifier.py",
        old="classified.where(~good | reached)",
        new="classified",
        test=_case("aggregate, append, 1 hour by key, filtered, three batches and a crash"),
    ),
    Mutant(
        breaks="A timer of a rotation that is due is judged a millisecond before the watermark passes it",
        file="spark_jobs/pipelines/aircraft_rotations/logic.py",
        old="if departure.at_ms <= watermark_ms]",
        new="if departure.at_ms < watermark_ms]",
        test="tests/spark/test_tws.py::test_rotations_gives_what_plain_python_gives_however_the_departures_are_batched",
    ),
)
