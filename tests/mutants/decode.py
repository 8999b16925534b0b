"""Mutants of decoding many records at once. See mutant.py."""

from tests.mutants.mutant import Mutant

DECODER = "spark_jobs/decode/json_decoder.py"
TESTS = "tests/unit/test_json_decoder.py"
TEST = f"{TESTS}::test_records_decoded_at_once_are_what_each_is_alone"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "of records decoded at once, the malformed ones have no reason",
        DECODER,
        "                reasons[len(records)] = reason\n",
        "",
        TEST,
    ),
    Mutant(
        "of records decoded at once, a key in the wrong case is a null",
        DECODER,
        "            if None in column:\n",
        "            if () in column:\n",
        TEST,
    ),
    Mutant(
        "of records decoded at once, a time keeps the zone that its producer wrote",
        DECODER,
        "                    if at is not None and at.tzinfo is not UTC\n",
        "                    if at is not None and at.tzinfo is None\n",
        TEST,
    ),
    Mutant(
        "of records decoded at once, an undeclared field need not be UTF-8",
        DECODER,
        "self._decoder.decode if plain else self._strict\n",
        "self._decoder.decode\n",
        f"{TESTS}::test_a_bad_record_never_harms_its_neighbours",
    ),
    Mutant(
        "a key in the wrong case that is escaped is a null",
        DECODER,
        '    if b"\\\\" in value or not value.isascii():\n',
        "    if not value.isascii():\n",
        f"{TESTS}::test_a_bad_record_has_its_stated_reason",
    ),
    Mutant(
        "a key in the wrong case is a null where the right word is a value",
        DECODER,
        "any(lower.count(name) != value.count(name) for name in quoted)",
        "any(name not in value for name in quoted)",
        f"{TESTS}::test_a_bad_record_has_its_stated_reason",
    ),
    Mutant(
        "a column of which nobody makes anything may have a time beyond the year 9999",
        DECODER,
        '[field.name for field in topic.fields if field.type == "timestamp"]',
        '[f.name for f in topic.fields if f.type == "timestamp" and f.name in (wanted or topic.columns)]',
        f"{TESTS}::test_columns_that_nobody_wants_change_no_other_and_no_reason",
    ),
)
