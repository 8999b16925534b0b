"""Commits that another writer overtook: which are repeated, and what is said of the others."""

import pytest

from spark_jobs.errors import TableContended
from spark_jobs.table.delta.commit import ATTEMPTS, again, conflict, in_words
from tests.harness.refused import fails

TEXT = (
    "This transaction attempted to read one or more files that were deleted by a concurrent update."
)
JAVA = f"""An error occurred while calling o9.commit.
: io.delta.exceptions.ConcurrentDeleteReadException: {TEXT}
\tat org.apache.spark.sql.delta.ConflictChecker"""
METADATA = JAVA.replace("ConcurrentDeleteRead", "MetadataChanged")


class Commit:
    """Fails with these texts, one after the other, and then succeeds."""

    def __init__(self, *texts: str):
        self.texts = list(texts)
        self.tried = 0

    def __call__(self):
        self.tried += 1
        if self.texts:
            raise RuntimeError(self.texts.pop(0))


def test_javas_exception_is_known_by_its_name():
    assert conflict(RuntimeError(JAVA)) == ("ConcurrentDeleteReadException", TEXT)
    assert conflict(RuntimeError("No space left on device")) is None
    assert conflict(RuntimeError("")) is None


def test_deltas_exception_in_python_is_known_by_its_class():
    from delta.exceptions import MetadataChangedException  # noqa: PLC0415 - imports pyspark

    known = conflict(MetadataChangedException(f"{TEXT}\n\nConflicting commit: {{}}"))
    assert known == ("MetadataChangedException", TEXT)


def test_a_commit_is_repeated_until_it_succeeds_and_not_for_ever():
    overtaken = Commit(JAVA, JAVA)
    again(overtaken, "t")
    assert overtaken.tried == 3
    always = Commit(*[JAVA] * 99)
    with pytest.raises(RuntimeError):
        again(always, "t")
    assert always.tried == ATTEMPTS


@pytest.mark.parametrize("text", [METADATA, "No space left on device"])
def test_what_a_repetition_cannot_mend_is_not_repeated(text):
    commit = Commit(text)
    with pytest.raises(RuntimeError):
        again(commit, "t")
    assert commit.tried == 1


def test_a_conflict_is_told_in_words_and_another_error_stays_what_it_is():
    with (
        fails(
            TableContended,
            "written_meanwhile",
            path="s3://bucket/t",
            conflict="MetadataChangedException",
        ),
        in_words("s3://bucket/t"),
    ):
        raise RuntimeError(METADATA)
    with pytest.raises(RuntimeError, match="No space"), in_words("s3://bucket/t"):
        raise RuntimeError("No space left on device")
