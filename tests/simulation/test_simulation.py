"""Commands at once, hit at their writes, in these seeds' orders, on a disk and a store."""

import pytest

from spark_jobs.journal import runner
from spark_jobs.steps.keyed import places
from tests.simulation.schedule import COMPUTES, At
from tests.simulation.simulate import Round, played, run

SEEDS = range(9000, 9024)
A_TEST = 4


@pytest.mark.parametrize("first", SEEDS[::A_TEST])
def test_what_was_hit_and_interleaved_ends_as_the_model_says(first):
    for seed in range(first, first + A_TEST):
        outcome = played(seed)
        assert outcome.violation is None, (seed, outcome.lines)


NUMBER = 233214615
"""From it a repair takes its row, and a rewind its batch: the newest."""
BY_ONE = 1
"""From it a rewind takes the batch before."""
HOURS_BACK = 55
"""From it a repair takes the same row, on a machine three hours behind."""
TWO_BACK = 3
"""From it a rewind goes back by two batches."""
OF_ONE, OF_SEVEN = 1, 11
"""From them an excision takes offset 1, or 7, which is not drained yet."""
LATER = tuple(Round(((kind, NUMBER),)) for kind in ("drain", "publish", "swap"))
FOUND_BEFORE = {
    "a rewind was killed behind its RESTORE, and takes its repair back": (
        Round((("repair", NUMBER),)),
        Round((("rewind", NUMBER),), at=At("dies", "delta set_table_properties")),
    ),
    "a swap was killed behind its commit, and is announced": (
        Round((("repair", NUMBER),), at=At("dies", "delta write_deltalake", 5)),
        *LATER,
    ),
    "a person's RESTORE behind a repair leaves no fate that is not true": (
        Round((("repair", NUMBER),)),
        Round((("restore", NUMBER),)),
    ),
    "rows that failed come back by a rewind, and are judged again": (
        *(Round(((kind, NUMBER),)) for kind in ("drain", "delete bad", "drain")),
        Round((("rewind", BY_ONE),)),
        Round((("publish", NUMBER),)),
    ),
    "a reset was killed behind its moves": (
        Round((("reset", NUMBER),), at=At("dies", "os.mkdir sales_hourly")),
        Round((("reset", NUMBER),)),
    ),
    "a switch was killed behind live.json, which is lost, and taken back": (
        Round((("repair", NUMBER),)),
        Round((("rebuild", NUMBER),), at=At("dies", "rebuild.json", 2)),
        *(Round(((kind, NUMBER),)) for kind in ("lose live", "drain", "publish", "back", "repair")),
    ),
    "an acceptance was killed behind its row": (
        Round((("drain", NUMBER),)),
        Round((("accept", NUMBER),), at=At("dies", "cursor.json")),
        *(Round(((kind, NUMBER),)) for kind in ("delete bad", "drain", "publish")),
    ),
    "two publish at once": (
        Round((("drain", NUMBER),)),
        Round((("publish", NUMBER), ("publish", NUMBER)), at=At("sleeps", "airflow emits")),
        *LATER,
    ),
}
"""Schedules that failed before the journal: by name what `make simulate` showed of a seed."""
FEARED = {
    "a rebuild is discarded beside its switch": (
        Round((("rebuild", NUMBER), ("discard", NUMBER)), at=At("sleeps", "live.json")),
        *LATER,
    ),
    "two begin a rebuild": (
        Round((("rebuild", NUMBER), ("rebuild", NUMBER)), at=At("sleeps", "create rebuild.json")),
        *LATER,
    ),
    "maintain was killed amid the removal of a dead place": (
        *(Round(((kind, NUMBER),)) for kind in ("rebuild", "publish")),
        Round((("maintain later", NUMBER),), at=At("dies", "offsets")),
        *(Round(((kind, NUMBER),)) for kind in ("back", "drain", "maintain later", "lose live")),
    ),
    "a topic was made anew between plan and stage": (
        Round((("repair", NUMBER), ("topic anew", NUMBER)), at=At("sleeps", "planned")),
        *LATER,
    ),
    "records went at the head, and a rebuild would lose their rows": (
        *(Round(((kind, NUMBER),)) for kind in ("drain", "retention", "rebuild", "publish")),
        *LATER,
    ),
    "records went at the head, and a reset begins behind them": (
        *(Round(((kind, NUMBER),)) for kind in ("retention", "reset", "drain", "publish")),
        *LATER,
    ),
    "a stage was cleared while the one before held its lease": (
        Round((("repair", NUMBER),), at=At("dies", "delta write_deltalake", 4)),
        Round(
            (("stage", NUMBER), ("stage", NUMBER), ("swap", NUMBER)), at=At("sleeps", "computes")
        ),
        *LATER,
    ),
    "a clock was set back between a swap and a repair that needed none, and it is taken back": (
        Round((("repair", NUMBER),)),
        Round((("repair again", HOURS_BACK),)),
        Round((("rewind", TWO_BACK),)),
        *LATER,
    ),
    "a newer Sluice was killed amid a change": (
        Round((("rewind", NUMBER),), at=At("dies", "delta set_table_properties")),
        *(Round(((kind, NUMBER),)) for kind in ("newer", "drain", "publish", "repair")),
    ),
    "a reset was killed when it had given up what a newer Sluice began": (
        Round((("rewind", TWO_BACK),), at=At("dies", "delta set_table_properties")),
        Round((("newer", NUMBER),)),
        Round((("reset", NUMBER),), at=At("dies", "journal.json", 2)),
        *(Round(((kind, NUMBER),)) for kind in ("drain", "publish")),
    ),
    "a drain comes late, before its commit, behind a rewind": (
        Round(
            (("drain", NUMBER), ("rewind", TWO_BACK), ("drain", NUMBER), ("drain", NUMBER)),
            at=At("sleeps", "put 7.snapshot"),
        ),
        *LATER,
    ),
    "a rewind comes late amid its copy": (
        Round(
            (("rewind", TWO_BACK), ("drain", NUMBER), ("drain", NUMBER)),
            at=At("sleeps", "4.snapshot"),
        ),
        *LATER,
    ),
    "a person's RESTORE and VACUUM come before what has passed is shown": (
        *(Round(((kind, NUMBER),)) for kind in ("drain", "restore", "vacuum", "publish")),
    ),
    "a RESTORE put files back that maintenance had joined, and a VACUUM removed the joined ones": (
        *(Round(((kind, NUMBER),)) for kind in ("maintain", "restore", "vacuum", "publish")),
    ),
    "a second excision behind a rewind is taken over, and the first one's rows wait": (
        Round((("excise", OF_ONE),), at=At("dies", COMPUTES)),
        Round((("rewind", TWO_BACK),)),
        Round((("excise", OF_SEVEN),)),
    ),
    "an excision ends and is killed, and another has its record": (
        Round((("excise", OF_ONE),)),
        Round((("lift", NUMBER),), at=At("dies", "failing.json")),
        *(Round(((kind, OF_ONE),)) for kind in ("drain", "excise")),
    ),
    "a rebuild is half done when records are taken out": (
        Round((("rebuild", NUMBER),), at=At("dies", "cursor.json", 2)),
        *(Round(((kind, OF_ONE),)) for kind in ("excise", "rebuild", "drain", "back", "drain")),
    ),
    "a store has swapped, and its answer is lost": (
        Round((("repair", NUMBER),), at=At("loses", "delta write_deltalake", 5)),
        *LATER,
    ),
}
"""Schedules of what a hostile reading has only read."""
NAMED = FOUND_BEFORE | FEARED
GOOD, BAD = (2, 3), (2010, 2003)
"""Seeds on a disk and over an object store: whose next batches are good, and whose next is bad."""


@pytest.mark.parametrize("remote", [False, True])
@pytest.mark.parametrize("what", NAMED)
def test_what_was_found_or_feared_holds(what, remote):
    seeds = BAD if "failed" in what or "acceptance" in what else GOOD
    outcome = run(NAMED[what], seeds[remote])
    assert outcome.violation is None, outcome.lines


FOUND = {
    "a person's RESTORE comes amid that of a rewind": (
        (
            Round(
                (("vacuum", 727964103), ("rewind", 730742559), ("restore", 704806872)), 1040204636
            ),
        ),
        20261426,
    ),
    "a drain sees whether it may write while a rewind copies": (
        (
            Round((("rewind", 141845311),), 1021223026, hits=1),
            Round((("drain", 633715364), ("rewind", 70860870)), 490631751, hits=1),
        ),
        1003,
    ),
    "a rewind that a person's RESTORE overtakes is completed by the next drain": (
        (
            *(Round((each,)) for each in (("repair", 311323938), ("repair again", 669091938))),
            Round((("restore", 708029501), ("rewind", 794262284)), 12),
        ),
        50415,
    ),
}
"""Interleavings, with the seed of all."""


@pytest.mark.parametrize("what", FOUND)
def test_what_make_simulate_found_holds(what):
    outcome = run(*FOUND[what])
    assert outcome.violation is None, outcome.lines


@pytest.mark.parametrize("first", ["reset", "rebuild"])
def test_a_rebuild_may_follow_a_reset_and_another_one(first):
    """It was refused for good: nothing was in the place that it would take."""
    outcome = run([Round(((kind, NUMBER),)) for kind in (first, "drain", "rebuild")], GOOD[1])
    assert outcome.violation is None
    assert any("rebuild" in line and line.endswith("done") for line in outcome.lines[2:])


def test_a_swap_that_nobody_completes_is_seen(monkeypatch):
    """The simulator looks: without the journal's one rule it finds what the rule is for."""
    monkeypatch.setattr(runner, "complete", lambda *_: None)
    killed = Round((("repair", NUMBER),), at=At("dies", "delta write_deltalake", 5))
    outcome = run((killed,), 2)
    assert outcome.violation.kind == "fates"


def test_a_newer_change_of_a_key_that_loses_is_seen(monkeypatch):
    drains = [Round((("drain", NUMBER),))] * 2
    assert run(drains, GOOD[0], keyed=True).violation is None
    monkeypatch.setattr(places, "placed", lambda _: ())
    assert run(drains, GOOD[0], keyed=True).violation.kind in {"rows", "trace"}


def test_a_rebuild_begins_beside_a_discard_or_is_refused_in_words():
    begun = Round((("rebuild", 670519844),), seed=368626364)
    beside = Round((("discard", 730546385), ("rebuild", 1032284249)), seed=996831273)
    assert run((begun, beside), 20261600).violation is None


def test_a_repair_that_found_its_hour_as_it_is_waits_again_where_the_hour_is_taken_back():
    """Of two keys of one hour: a range is compared whole."""
    first = Round((("repair", 354552924),), seed=853038871)
    commands = (("publish", 818081291), ("repair again", 106321283), ("rewind", 105009456))
    assert run((first, Round(commands, seed=256053910, asleep=13)), 20262432).violation is None


def test_who_creates_the_table_when_another_has_comes_late_and_is_told_so():
    commands = (("rebuild", 1018047097), ("rebuild", 103929704))
    outcome = run((Round(commands, seed=987568622, asleep=15),), 20262679)
    assert outcome.violation is None
