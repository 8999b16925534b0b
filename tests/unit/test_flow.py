"""The flow of a run: it adds up, its widths are in proportion, and what is not known is not drawn."""

from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from spark_jobs.messages.change import Change
from spark_jobs.messages.offset_account import Account
from spark_jobs.messages.part import HeldBack
from spark_jobs.messages.report import StateUse
from spark_jobs.ops.json_of_tables import BatchLine, RunLine, RunPage, TopicLine
from spark_jobs.pages.flow import LEAST, PAD, THICK, UNIT, drawing, sums
from spark_jobs.pages.flow_of import flow_of, flow_of_rows, flow_of_topic, says, topics_differ

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
COUNT = st.one_of(st.integers(0, 9), st.integers(0, 10**9))
LEAVE = ("aborted", "markers", "removed", "malformed", "premature", "filtered", "late")
FATES = ("duplicates", "superseded", "absent", "deleted", "inserted", "updated")
ANY = st.builds(
    Account,
    **{
        name: st.integers(-5, 10**6)
        for name, field in Account.model_fields.items()
        if field.annotation is int
    },
    duplicates=st.none() | st.integers(-5, 10**6),
)


def page(account, kind="drain", **more) -> RunPage:
    line = RunLine(
        pipeline="p", run_id="r", kind=kind, status="succeeded", problem=None, started_at=NOON,
        ended_at=NOON, query_seconds=None, duplicates=None, unaccounted=0, state_rows=None,
        watermark=None, table_version=None, read=0, rows_out=0, late=0, malformed=0, premature=0,
    )  # fmt: skip
    return RunPage(
        line=line, what=None, account=account, state=StateUse(), seconds={}, checks=(),
        next_command="", next_steps=(),
        **{"offsets_start": {}, "offsets_end": {}, "batches": (), **more},
    )  # fmt: skip


def leaves(flow) -> dict[str, int | None]:
    found = dict[str, int | None]()
    for part in flow.leaves:
        found[part.name] = (
            (found.get(part.name) or 0) + part.records if part.records is not None else None
        )
    return found


@st.composite
def ledgers(draw, keyed=False) -> dict[str, int]:
    """Of each outcome a number, and what they come to: no sum of the code's."""
    gone = {name: draw(COUNT) for name in LEAVE}
    fates = {name: draw(COUNT) for name in (FATES if keyed else FATES[:1])}
    kept = 0 if keyed else draw(COUNT)
    accepted = sum(fates.values()) + kept
    read = accepted + sum(gone[name] for name in LEAVE[3:])
    gaps = sum(gone[name] for name in LEAVE[:3]) + draw(COUNT)
    return gone | fates | {"accepted": accepted, "read": read, "gaps": gaps, "covered": read + gaps}


@given(st.one_of(ledgers(), ledgers(keyed=True)), COUNT, COUNT)
def test_an_account_that_is_exact_flows_from_its_offsets_to_its_leaves_and_nothing_lacks(
    counts, held, left
):
    waits = {"0": HeldBack(offsets=held, since=None)}
    flow = flow_of(
        page(Account(**counts), held_back=waits, waiting=left, bounded_by="max_batches=1")
    )
    if flow is None:
        assert counts["covered"] + held + left == 0
        return
    found = leaves(flow)
    assert (flow.wrong, flow.whole) == (0, counts["covered"] + held + left)
    assert sum(filter(None, found.values())) == flow.whole
    for name in (*LEAVE, *FATES[:4]):
        assert found.get(name, 0) == counts.get(name, 0)


@given(
    ledgers(), st.sampled_from(["covered", "read", "accepted", *LEAVE[3:]]), st.integers(1, 10**6)
)
def test_a_count_that_is_off_by_some_is_off_by_as_many_in_the_drawing(counts, name, off):
    flow = flow_of(page(Account(**(counts | {name: counts[name] + off}))))
    assert flow is not None
    # One of a stage is in its own sum, and in that of the stage before.
    assert flow.wrong == off * (2 if name == "read" else 1)
    assert sum(part.records or 0 for part in flow.leaves) == flow.whole


@given(ANY, st.sampled_from(["drain", "repair"]))
def test_of_any_account_the_leaves_are_the_source_widths_are_in_proportion_and_nothing_is_negative(
    account, kind
):
    flow = flow_of(page(account, kind))
    if flow is None:
        return
    assert sum(part.records or 0 for part in flow.leaves) == flow.whole > 0
    for stage, after in zip(flow.stages, [*flow.stages[1:], None], strict=True):
        onward = flow.end.records if after is None else max(0, after.records)
        gone = sum(part.records or 0 for part in stage.leaves)
        assert max(0, stage.records) + stage.surplus == gone + onward
    drawn = drawing(flow)
    assert [label.part for label in drawn.labels] == list(flow.leaves)
    for label in drawn.labels:
        records = label.part.records or 0
        assert records >= 0
        exact = THICK * records / flow.whole
        assert label.height == pytest.approx(exact if exact >= LEAST or not records else LEAST)
        assert label.widened == (0 < exact < LEAST)
        assert label.height + PAD <= label.high * UNIT, "its label has room for its band"
        assert 1 <= label.high <= 7, "the style sheet has these"
    assert drawn.height == sum(label.high for label in drawn.labels) * UNIT
    height, place = 0.0, 0
    for node, stage in zip(drawn.nodes, reversed(flow.stages), strict=True):
        behind = place + (place == 0) + len(stage.leaves)
        height += sum(label.height for label in drawn.labels[place:behind])
        assert node.height == pytest.approx(height), "all that it leads to"
        came = max(THICK * stage.surplus / flow.whole, LEAST) if stage.surplus else 0
        height, place = height - came, behind
    assert all(band.height > 0 for band in drawn.bands)
    assert sum(band.kind == "surplus" for band in drawn.bands) == sum(
        stage.surplus > 0 for stage in flow.stages
    )


def test_what_is_not_known_is_told_and_neither_drawn_nor_summed():
    lost = Account(covered=9, read=9, accepted=9, duplicates=None, unaccounted=None)
    flow = flow_of(page(lost))
    assert leaves(flow) == {"accepted, copies among them": 9, "duplicates": None}
    assert [label.height for label in drawing(flow).labels] == [THICK, 0]
    assert flow.wrong == 0
    assert says(page(lost)).keys() == {"duplicates"}


@pytest.mark.parametrize(
    ("status", "problem", "more", "left"),
    [
        ("succeeded", None, {}, 0),
        ("failed", "CHECK_FAILED", {}, 0),
        ("succeeded", None, {"bounded_by": "max_batches=1", "waiting": 4}, 4),
        ("failed", "STOPPED", {"bounded_by": "SIGTERM", "waiting": 4}, 4),
        ("failed", "KAFKA_UNREACHABLE", {}, None),
        ("failed", "REPORT_MISSING", {"cut_off": True}, None),
        ("succeeded", None, {"cut_off": True}, None),
    ],
)
def test_what_a_run_left_is_known_of_one_that_came_to_the_end_or_to_a_limit(
    status, problem, more, left
):
    found = page(Account(covered=3, read=3, accepted=3), **more)
    line = found.line.model_copy(update={"status": status, "problem": problem})
    found = found.model_copy(update={"line": line})
    known = leaves(flow_of(found))
    assert known.get("left", 0) == left
    assert ("left" in says(found)) == (left != 0)
    assert flow_of(found).wrong == 0


def test_a_run_without_an_offset_or_a_record_has_no_flow():
    assert flow_of(page(Account(rows_out=7))) is None
    assert flow_of(page(Account(), "backfill")) is None
    assert flow_of_rows(page(Account())) is None
    assert flow_of_rows(page(Account(), change=Change())) is None


def test_offsets_that_were_lost_before_their_account_are_no_mismatch_as_far_as_they_are_known():
    known = leaves(flow_of(page(Account(covered=10, read=7, accepted=7, unknown=3))))
    assert (known["unknown"], known.get("missing")) == (3, None)
    more = leaves(flow_of(page(Account(covered=10, read=6, accepted=6, unknown=3))))
    assert (more["unknown"], more["missing"]) == (3, 1)
    beside = leaves(flow_of(page(Account(covered=10, gaps=2, read=6, accepted=6, unknown=3))))
    assert (beside["gaps"], beside["unknown"], beside.get("missing")) == (2, 2, None)


@pytest.mark.parametrize("fate", ["superseded", "absent", "deleted"])
def test_a_run_whose_changes_are_in_no_row_has_none_in_the_rows(fate):
    found = flow_of(page(Account(covered=5, read=5, accepted=5, **{fate: 5})))
    assert (leaves(found), found.wrong) == ({"accepted": 0, fate: 5}, 0)


@pytest.mark.parametrize(
    ("first", "end", "left"),
    [(None, 9, 5), (10, None, 5), (10, 10, 5), (10, 4, 5), (10, 12, 3), (10, 15, 0), (10, 99, 0)],
)
def test_what_a_transaction_held_when_the_run_began_counts_unless_a_batch_has_read_it(
    first, end, left
):
    held = {"3": HeldBack(offsets=5, since=None, first=first)}
    ends = {} if end is None else {"3": end}
    flow = flow_of(page(Account(covered=1, read=1, accepted=1), held_back=held, offsets_end=ends))
    assert leaves(flow).get("held", 0) == left


def test_a_repair_s_records_are_those_it_used_and_all_others_and_its_rows_what_it_would_change():
    account = Account(
        covered=95, read=95, malformed=1, premature=2, filtered=20, kept_aside=7, outside=25,
        accepted=40, duplicates=4, rows_out=8,
    )  # fmt: skip
    change = Change(rows_before=9, rows_after=8, added=1, removed=2, changed=3)
    found = page(account, "repair", change=change)
    assert leaves(flow_of(found)) == {
        "computed from": 36, "duplicates": 4, "kept aside": 7, "outside": 25, "filtered": 20,
        "premature": 2, "malformed": 1,
    }  # fmt: skip
    rows = leaves(flow_of_rows(found))
    assert rows == {"as they were": 4, "changed": 3, "added": 1, "removed rows": 2}
    assert sum(rows.values()) - rows["removed rows"] == change.rows_after
    more = account.model_copy(update={"accepted": 99})
    assert flow_of(page(more, "repair")).wrong > 0
    other = change.model_copy(update={"rows_after": 7})
    assert flow_of_rows(page(account, "repair", change=other)).wrong == 1


def test_each_topic_s_flow_begins_with_its_own_offsets():
    topic = TopicLine(
        topic="t", read=8, gaps=2, malformed=1, premature=0, filtered=3, late=0, accepted=4,
        unaccounted=0, newest=None, behind=None,
    )  # fmt: skip
    flow = flow_of_topic(topic)
    assert leaves(flow) == {"accepted": 4, "filtered": 3, "malformed": 1, "gaps": 2}
    assert (flow.whole, flow.wrong) == (10, 0)
    assert [*sums(flow)] == [
        "10 offsets = 2 gaps + 8 read",
        "8 read = 3 filtered + 1 malformed + 4 accepted",
    ]


def test_topics_whose_sum_is_another_than_the_run_s_are_told_unless_a_batch_lacks_them():
    def of(name, read, late, **more):
        return TopicLine(
            topic=name, read=read, malformed=0, premature=0, filtered=0, late=late,
            accepted=read - late, unaccounted=0, newest=None, behind=None, **more,
        )  # fmt: skip

    def found(topics, of_batch="{}", **counts):
        account = Account(covered=9, read=9, accepted=8, late=1, **counts)
        batch = BatchLine(
            batch=1, generation="g", run_id="r", audited_at=NOON, seconds=1.0, source="progress",
            account=account, offsets_start="{}", offsets_end="{}", state_rows=None, topics=of_batch,
            state_bytes=None, watermark=None, table_version=None, steps=(),
        )  # fmt: skip
        return page(account, topics=topics, batches=(batch,))

    assert topics_differ(found((of("a", 4, 0), of("b", 5, 1)))) == []
    assert topics_differ(found((of("a", 4, 0), of("b", 5, 0)))) == ["accepted", "late"]
    assert topics_differ(found((of("a", 4, 0), of("b", 5, 0)), None)) == []
    assert topics_differ(found(())) == []


def test_a_surplus_is_told_where_it_comes_in():
    flow = flow_of(page(Account(covered=3, read=3, accepted=5)))
    assert [*sums(flow)][1] == "3 read = 5 accepted, 2 more than there were"
