"""The mutants are made of text: each must still stand in its file once, and name a test that is
there.
"""

from __future__ import annotations

import re

import pytest

from spark_jobs.contract.settings import REPO
from tests.mutants.__main__ import MUTANTS
from tests.mutants.mutant import Mutant


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.breaks)
def test_what_a_mutant_changes_stands_in_its_file_once_and_the_test_that_sees_it_is_there(
    mutant: Mutant,
) -> None:
    assert (REPO / mutant.file).read_text().count(mutant.old) == 1
    file, _, name = mutant.test.partition("::")
    assert (REPO / file).exists(), file
    function = re.sub(r"\[.*", "", name.rpartition("::")[2])
    assert not function or re.search(
        rf"^\s*(def|class) {re.escape(function)}\b", (REPO / file).read_text(), re.MULTILINE
    )


def test_each_has_a_sentence_of_its_own() -> None:
    assert len({mutant.breaks for mutant in MUTANTS}) == len(MUTANTS)
