"""Mutants of decoding many records at once. See mutant.py."""

from tests.mutants.mutant import Mutant

DECODER = "spark_jobs/decode/json_decoder.py"
TEST = "tests/unit/test_json_decoder.py::test_records_decoded_at_once_are_what_each_is_alone"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "of records decoded at once, the malformed ones have no reason",
        DECODER,
        "                    reason = self._reason(value, error)\n",
        "                    reason = None\n",
        TEST,
    ),
    Mutant(
        "of records decoded at once, a key in the wrong case is a null",
        DECODER,
        "if None in columns[number]",
        "if () in columns[number]",
        TEST,
    ),
    Mutant(
        "of records decoded at once, a time keeps the zone that its producer wrote",
        DECODER,
        "            if at is not None and at.tzinfo is not UTC\n",
        "            if at is not None and at.tzinfo is None\n",
        TEST,
    ),
    Mutant(
        "of records decoded at once, an undeclared field need not be UTF-8",
        DECODER,
        "                if not value.isascii():\n                        value.decode()\n",
        "                if not value:\n                        value.decode()\n",
        "tests/unit/test_json_decoder.py::test_a_bad_record_never_harms_its_neighbours",
    ),
)
