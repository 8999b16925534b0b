"""The byte budget of one batch's quarantined records."""

from spark_jobs.rejected.rejected_store import MOST_REASON, ByteBudget, Share


def row(
    key: bytes | None, value: bytes | None, reason: str = "not JSON", headers: object = None
) -> dict[str, object]:
    raw = {"key": key, "value": value, "headers": headers}
    return {"offset": 7, **raw, "reason": reason, "left_out": None}


def test_what_fits_is_kept_as_it_is_and_of_the_rest_place_and_reason():
    budget = ByteBudget(Share(10))
    assert budget.row(row(b"key", b"1234")) == row(b"key", b"1234")
    beyond = budget.row(row(b"key", b"1234"))
    assert beyond == {
        "offset": 7, "key": None, "value": None, "headers": None,
        "reason": "not JSON (its 7 bytes are not kept)", "left_out": 7,
    }  # fmt: skip
    headers = [{"key": "ab", "value": None}, {"key": "", "value": b"cd"}]
    with_headers = budget.row(row(None, None, headers=headers))
    assert (with_headers["headers"], with_headers["left_out"]) == (None, 4)
    assert budget.row(row(None, b"123")) == row(None, b"123"), "a smaller one still fits"
    assert budget.row(row(None, None)) == row(None, None), "a tombstone has no bytes"


def test_the_reason_of_one_that_is_not_kept_is_not_a_copy_of_its_value():
    beyond = ByteBudget(Share(0)).row(row(None, b"x" * 5000, "x" * 5000))
    assert len(str(beyond["reason"])) < MOST_REASON + 50


def test_tasks_share_the_megabytes_of_a_batch():
    assert Share.of("256", 4) == Share(64_000_000)
    assert Share.of("1", 0) == Share(1_000_000)
