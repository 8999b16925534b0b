"""Mutants of the archive of a topic."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

UNIT = "tests/unit/test_topic_archive.py"
SPARK = "tests/spark/test_archive.py"

MUTANTS = (
    Mutant(
        "a broken archive stops what Kafka has",
        "spark_jobs/repair/archived.py",
        "        return {}, error\n",
        "        raise error\n",
        f"{UNIT}::test_an_archive_has_what_its_batches_cover_less_what_was_removed",
    ),
    Mutant(
        "an archive that a newer Sluice wrote stops what Kafka has",
        "spark_jobs/repair/archived.py",
        "    except (CheckpointBroken, FormatNewer) as error:\n",
        "    except CheckpointBroken as error:\n",
        f"{UNIT}::test_an_archive_has_what_its_batches_cover_less_what_was_removed",
    ),
    Mutant(
        "an archive is not behind in a partition that it has not begun",
        "spark_jobs/runs/archive_lag.py",
        "for p in topic.latest}\n",
        "for p in done}\n",
        f"{UNIT}::test_a_partition_that_no_batch_has_read_is_behind_by_all_that_it_has",
    ),
    Mutant(
        "the plan of an archive does not warn before retention overtakes it",
        "spark_jobs/runs/archive_lag.py",
        "    if lag is None or lag <= 1:\n",
        "    if lag is None or lag:\n",
        f"{UNIT}::test_its_plan_tells_how_far_it_is_behind_and_warns_before_retention_overtakes_it",
    ),
    Mutant(
        "doctor finds nothing to fix where nobody knows what an archive lacks",
        "spark_jobs/admin/doctor.py",
        "    if broken is None:\n",
        "    if settings:\n",
        f"{UNIT}::test_an_archive_has_what_its_batches_cover_less_what_was_removed",
    ),
    Mutant(
        "an archive leaves out what does not decode",
        "spark_jobs/dataflow.py",
        "classified = all_good(decoded)\n",
        "classified = classify(decoded, spec.topic, clock)\n",
        f"{SPARK}::test_a_repair_from_the_archive_is_that_from_kafka_to_the_byte_and_needs_no_kafka",
    ),
    Mutant(
        "an archive has only the bytes of records that may be rejected",
        "spark_jobs/dataflow.py",
        "decode(records, spec.topic, None, failing",
        "decode(records, spec.topic, capture, failing",
        f"{SPARK}::test_a_repair_from_the_archive_is_that_from_kafka_to_the_byte_and_needs_no_kafka",
    ),
    Mutant(
        "the records of a former topic count as those of the present one",
        "spark_jobs/repair/archived.py",
        "known is None or known.topic_id != topic_id or audited < 0",
        "known is None or audited < 0",
        f"{UNIT}::test_an_archive_has_what_its_batches_cover_less_what_was_removed",
    ),
    Mutant(
        "what an archive lacks counts as there",
        "spark_jobs/repair/archived.py",
        "lacks.get(partition, ())",
        "()",
        f"{UNIT}::test_an_archive_has_what_its_batches_cover_less_what_was_removed",
    ),
    Mutant(
        "what neither has is read from Kafka",
        "spark_jobs/repair/archived.py",
        "(kafka, without(rest, [(0, first)]))",
        "(kafka, rest)",
        f"{UNIT}::test_each_offset_is_read_from_the_archive_else_from_kafka_else_is_nowhere",
    ),
    Mutant(
        "maintain removes every old record, and leaves holes",
        "spark_jobs/admin/archive_care.py",
        """min({kept}), max("offset") + 1)""",
        """max("offset") + 1)""",
        f"{UNIT}::test_maintain_removes_the_oldest_offsets_up_to_the_first_record_to_keep",
    ),
    Mutant(
        "a reset gives up the table of an archive whose topic is the same",
        "spark_jobs/admin/reset.py",
        ".id != known.topic_id",
        ".id != ''",
        f"{UNIT}::test_a_reset_leaves_the_table_of_an_archive_only_for_another_topic",
    ),
    Mutant(
        "a reset of an archive needs the checkpoint that is broken",
        "spark_jobs/admin/reset.py",
        "    except CheckpointBroken:\n        return False",
        "    except CheckpointBroken:\n        raise",
        f"{UNIT}::test_an_archive_with_a_broken_checkpoint_is_reset_as_its_error_says",
    ),
    Mutant(
        "a spec that is invalid hides the archives of others",
        "spark_jobs/contract/registry.py",
        "        with suppress(Exception):\n            found.append",
        "        if True:\n            found.append",
        f"{UNIT}::test_the_registry_finds_the_archives_that_topics_declare_and_a_bad_spec_hides_none",
    ),
)
