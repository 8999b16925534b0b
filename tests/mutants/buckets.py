"""Mutants of GroupState in buckets: keys that are lost, mixed up or counted wrongly, and what must be
refused. See mutant.py.
"""

from tests.mutants.mutant import Mutant

BUCKET = "spark_jobs/steps/bucket.py"
UNIT = "tests/unit/test_bucket.py::"
RANDOM = f"{UNIT}test_any_rows_in_any_batches_give_what_plain_python_gives_key_by_key"
WRONG = f"{UNIT}test_what_the_code_must_not_return_is_refused_in_words"
SPEC = "spark_jobs/contract/step/group_state.py"
SPECS = "tests/unit/test_spec.py"
COUNTS = "tests/unit/test_operator_metrics.py::"
SPARK = "tests/spark/test_buckets.py::"
PROCESSOR = "spark_jobs/steps/bucket_processor.py"
COUNTED = "tests/unit/test_bucket_processor.py::"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "keys of a bucket that have no row in a batch lose their state",
        BUCKET,
        "pa.concat_tables([others, state]).combine_chunks(),",
        "state,",
        RANDOM,
    ),
    Mutant(
        "the code gets the state of a bucket's other keys too",
        BUCKET,
        "_pair(self.function(rows, before))",
        "_pair(self.function(rows, held))",
        f"{UNIT}test_the_code_gets_the_state_of_the_keys_that_have_rows_and_of_no_others",
    ),
    Mutant(
        "a key that the code forgets is not counted",
        BUCKET,
        "before.num_rows - gone.num_rows,",
        "0,",
        RANDOM,
    ),
    Mutant(
        "a bucket keeps a key twice",
        BUCKET,
        'pc.greater(known["_at_count"], 1)',
        'pc.greater(known["_at_count"], 9)',
        WRONG,
    ),
    Mutant(
        "the code may write the state of a key that is in another bucket",
        BUCKET,
        '(pc.invert(known["_second_any"]), "the state has a key',
        '(pc.is_null(known["_second_any"]), "the state has a key',
        WRONG,
    ),
    Mutant(
        "a number becomes text where text is declared",
        BUCKET,
        "if not _may_become(column.type, field.type):",
        "if False:",
        WRONG,
    ),
    Mutant(
        "state of other types than today's is taken as it is",
        BUCKET,
        "if held.schema != schema:",
        "if held is None:",
        f"{UNIT}test_state_of_other_types_than_todays_is_refused",
    ),
    Mutant(
        "what Spark marks as never null reaches the code with that mark, and fails in it",
        BUCKET,
        "rows = _plain(rows)",
        "rows = rows",
        f"{UNIT}test_rows_that_spark_marks_as_never_null_are_keys_like_others",
    ),
    Mutant(
        "a batch visits only the buckets of which it has rows, and counts their keys as all",
        "spark_jobs/steps/packed.py",
        "    yield pa.record_batch([numbers, pa.nulls(buckets, pa.binary())], PACKED)\n",
        "    yield pa.record_batch([numbers[:0], pa.nulls(0, pa.binary())], PACKED)\n",
        RANDOM,
    ),
    Mutant(
        "rows are packed only when all of a partition are in memory",
        "spark_jobs/steps/packed.py",
        "if size >= BYTES_TOGETHER:",
        "if size < 0:",
        f"{UNIT}test_rows_are_packed_in_their_order_and_in_as_many_parts_as_memory_asks_for",
    ),
    Mutant(
        "buckets are told as keys",
        "spark_jobs/audit/progress.py",
        "            reported[metric] = int(counted.get(name) or 0)\n",
        "            reported[metric] = reported[metric]\n",
        f"{COUNTS}test_of_buckets_keys_are_counted_in_the_place_of_buckets_everywhere",
    ),
    Mutant(
        "where no bucket was visited there are no keys",
        "spark_jobs/audit/progress.py",
        '            del reported["numRowsTotal"]\n',
        "            pass\n",
        f"{COUNTS}test_where_no_bucket_was_visited_the_keys_are_as_many_as_before_and_not_the_buckets",
    ),
    Mutant(
        "there may be no bucket",
        SPEC,
        "not 1 <= self.buckets <= MOST_BUCKETS",
        "not 0 <= self.buckets <= MOST_BUCKETS",
        SPECS,
    ),
    Mutant(
        "buckets go by event time, and nothing is late and no timer fires",
        SPEC,
        'if self.time_mode != "none":',
        'if self.time_mode == "processing":',
        SPECS,
    ),
    Mutant(
        "buckets take an initial state and never read it",
        SPEC,
        "        if self.initial_state is not None:\n            refuse(\n"
        '                "initial_state",\n                self.initial_state,\n'
        '                "buckets take',
        "        if self.initial_state is False:\n            refuse(\n"
        '                "initial_state",\n                self.initial_state,\n'
        '                "buckets take',
        SPECS,
    ),
    Mutant(
        "NaN and -0.0 are keys of buckets",
        "spark_jobs/contract/spec.py",
        'if types.get(key) == "double"',
        'if types.get(key) == "float"',
        SPECS,
    ),
    Mutant(
        "another number of buckets goes on with keys in the wrong ones",
        "spark_jobs/contract/fingerprint.py",
        '"initial_state": True, "output"',
        '"initial_state": True, "buckets": True, "output"',
        "tests/unit/test_fingerprint.py",
    ),
    Mutant(
        "what the code of buckets returns wrongly is Sluice's fault",
        "spark_jobs/runs/code_errors.py",
        "if kind == WrongResult.__qualname__:",
        "if not kind:",
        "tests/unit/test_code_errors.py::"
        "test_what_a_bucket_finds_wrong_is_the_codes_fault_though_it_is_told_by_a_line_of_sluice",
    ),
    Mutant(
        "a stored state of other types is what the code returned",
        "spark_jobs/runs/code_errors.py",
        "if kind == OtherTypes.__qualname__:",
        "if not kind:",
        "tests/unit/test_code_errors.py::test_a_state_of_other_types_is_no_fault_of_the_code",
    ),
    Mutant(
        "keys that a batch wrote are told as removed, and removed ones as written",
        PROCESSOR,
        "change.written, change.removed)",
        "change.removed, change.written)",
        f"{COUNTED}test_it_counts_the_keys_that_a_batch_leaves_writes_and_removes",
    ),
    Mutant(
        "a bucket without keys stays in Spark's state",
        PROCESSOR,
        "        if keys:\n",
        "        if keys >= 0:\n",
        f"{COUNTED}test_a_bucket_whose_last_key_is_forgotten_leaves_nothing_behind",
    ),
    Mutant(
        "a bucket that a batch only visits is told to have no keys",
        PROCESSOR,
        "yield _row(None, keys)",
        "yield _row(None, 0)",
        f"{COUNTED}test_a_visit_without_rows_tells_how_many_keys_there_are_and_changes_none",
    ),
    Mutant(
        "a function for buckets may take what applyInPandasWithState passes",
        "spark_jobs/contract/logic.py",
        'return len(BUCKET_FUNCTION if step.form == "buckets" else FUNCTION)',
        "return len(FUNCTION)",
        "tests/unit/test_logic_file.py",
    ),
    Mutant(
        "`sluice state` shows buckets",
        "spark_jobs/state/reader.py",
        "        stored = by_key(stored, step)\n",
        "        stored = stored\n",
        f"{SPARK}test_what_it_remembers_and_how_many_keys_these_are_is_what_plain_sql_says",
    ),
    Mutant(
        "keys of double that a query makes are put into buckets",
        "spark_jobs/steps/buckets.py",
        "        if kind not in KEY_TYPES:",
        "        if kind in ():",
        f"{SPARK}test_what_its_code_does_wrong_is_one_error_with_the_place_and_nothing_is_committed",
    ),
    Mutant(
        "a key that a query gives in other letters is not found",
        "spark_jobs/steps/buckets.py",
        "    rows = named(rows, step.keys)\n",
        "    rows = rows\n",
        f"{SPARK}test_a_query_may_give_the_key_in_other_letters_as_in_form_row",
    ),
    Mutant(
        "a corrected expression may give keys of another type to buckets",
        "spark_jobs/steps/state_types.py",
        'yield f"in buckets: {_columns(_packed(children[0]))}"',
        'yield "in buckets"',
        f"{SPARK}test_a_query_that_gives_the_key_another_type_needs_another_state",
    ),
)
