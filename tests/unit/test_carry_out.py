"""The commands of repairs at the terminal: all real but the broker's words and Spark's process."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from spark_jobs.checkpoint.lease import lease
from spark_jobs.checkpoint.notes.failing import read_failing
from spark_jobs.cli import app, carry_out as carrying
from spark_jobs.cli.carry_out import Asked, carry_out
from spark_jobs.cli.terminal import NOT_DONE
from spark_jobs.errors import LeaseHeld, SwapRefused, catalogue
from spark_jobs.excise.note import Excision, keep, slots_of
from spark_jobs.launch import foreground
from spark_jobs.messages.job import Stage, read
from spark_jobs.ops import ops_tables, repairs
from spark_jobs.repair.find.coverage import coverage
from spark_jobs.repair.find.ranges_due import RUN_PREFIX, untried
from spark_jobs.repair.swap import described
from spark_jobs.source.port import SourceState
from spark_jobs.source.positions import Positions
from spark_jobs.storage import failpoint
from spark_jobs.values.spans import EPOCH, MICROSECOND
from tests.harness import roots
from tests.harness.refused import fails
from tests.harness.roots import ROOT
from tests.harness.sources import says
from tests.unit.checkpoints import plan_batch
from tests.unit.repaired import DAY, SPEC, Changes, Root, row
from tests.unit.specs import OURS, deployed

WRONG: Changes = [(row(1, "a"), row(1, "a", 2)), (None, row(1, "\x1b[31m"))]
FIRST_HOURS = "--from", f"{DAY:%FT%RZ}", "--to", f"{DAY + timedelta(hours=3):%FT%RZ}"
USAGE = 2
SHOWN = (
    "changed, unexplained: windowEnd 2026-03-01 02:00:00+00:00, shop a, sales 1 -> 2, "
    "mean 0.3333333333333333 -> 0.6666666666666666, ids ['a']"
)


class Terminal:
    """A root in which a late record of hour 1 waits, and the commands over it."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch):
        self.root = Root(folder / ROOT)
        self.root.drain(0, 9)
        clock = int((DAY + timedelta(days=1)).timestamp() * 1000)
        plan_batch(self.root.folder, 9, {0: 10}, clock, topic="sales")
        own = {"pipeline": SPEC.name, "generation": "g1", "batch_id": 9, "run_id": "r"}
        own |= {"partition": 0}
        at = DAY + timedelta(hours=1, minutes=30)
        late = {"offset": 7, "step": "late", "watermark_missed": DAY, "event_time": at}
        ops_tables.append(self.root.paths.root, "late", [own | late])
        read = {"first_offset": 0, "last_offset": 9, "records": 10, "late": 1}
        read |= {"first_event_time": at, "last_event_time": at}
        ops_tables.append(self.root.paths.root, "slices", [own | read])
        self.started = 0
        says(patch, SourceState("topic-1", Positions({0: 0}), Positions({0: 10})))
        deployed(folder, patch, OURS)
        patch.setattr(foreground, "run_in_foreground", self._stage)

    def sluice(self, *words: str, typed: str | None = None) -> Result:
        return self.typed("repair", SPEC.name, *words, typed=typed)

    def typed(self, *words: str, typed: str | None = None) -> Result:
        where = {"SLUICE_ROOT": self.root.settings.root, "SLUICE_KAFKA": "127.0.0.1:1"}
        env = where | {"COLUMNS": "400", "TERM": "dumb"}
        return CliRunner().invoke(app, list(words), input=typed, env=env)

    def _stage(self, words: list[str], *_: object):
        self.started += 1
        job = read(words[-1:])
        assert isinstance(job, Stage)
        repair_id, at = job.repair_id, job.report
        made = self.root.stage(repair_id, WRONG, approval="needed", unexplained=2)
        known = {"pipeline": SPEC.name, "repair_id": repair_id, "generation": "g1"}
        staged = {"state": "staged", "staged_at": datetime.now(UTC)}
        repairs.put(self.root.paths.root, [known | described(made) | staged])
        now = datetime.now(UTC)
        roots.report(SPEC.name, kind="repair", at=now).write(Path(at))

    def coverage(self) -> str:
        [day] = coverage(SPEC, self.root.paths).intervals
        return day.state


@pytest.fixture
def terminal(tmp_path, monkeypatch) -> Terminal:
    return Terminal(tmp_path, monkeypatch)


def test_who_says_no_has_seen_the_rows_and_nothing_waits_for_a_person_any_more(terminal):
    before = terminal.root.version
    done = terminal.sluice("--execute", typed="n\n")
    assert done.exit_code == NOT_DONE, done.output
    shown, question = done.stdout.index(SHOWN), done.stdout.index("Swap this change in?")
    assert shown < question
    assert "shop \\x1b[31m" in done.stdout, "a record does not control the terminal"
    [(repair_id, state)] = terminal.root.states().items()
    assert state == "rejected"
    assert f"nothing is changed; repair {repair_id} is rejected" in done.stdout
    assert (terminal.root.version, terminal.coverage()) == (before, "late")
    with fails(SwapRefused, "answered_no"):
        terminal.root.swap(repair_id)


def test_who_says_yes_has_it_swapped_in(terminal):
    done = terminal.sluice("--execute", typed="y\n")
    assert done.exit_code == 0, done.output
    assert done.stdout.index(SHOWN) < done.stdout.index("Swap this change in?")
    assert "1 rows added, 0 removed, 1 changed" in done.stdout
    assert list(terminal.root.states().values()) == ["swapped"]
    assert terminal.coverage() == "canonical"


@pytest.mark.parametrize("more", [(), ("--execute",)])
def test_a_verify_proves_at_once_since_it_changes_nothing(terminal, more):
    done = terminal.typed("verify", SPEC.name, *FIRST_HOURS, *more)
    assert done.exit_code == 0, done.output
    assert terminal.started == 1
    assert "the table is what its records give" in done.stdout


def test_nobody_takes_a_verify_that_only_shows_or_finds_no_record_for_a_proof(terminal):
    empty = "--from", "2020-03-01T00:00Z", "--to", "2020-03-01T02:00Z"
    for words in ((*FIRST_HOURS, "--plan"), empty):
        done = terminal.typed("verify", SPEC.name, *words)
        assert done.exit_code == NOT_DONE, done.output
        assert done.stdout.splitlines()[-1] == f"{SPEC.name}: nothing is verified"
    assert terminal.started == 0
    assert terminal.typed("verify", SPEC.name, "--plan", "--execute").exit_code == USAGE


def test_a_dry_run_has_a_status_of_its_own_while_there_is_something_to_do(terminal):
    assert NOT_DONE not in {0, 1, USAGE, *{error.exit_status for error in catalogue()}}
    for words in (
        ("repair",),
        ("backfill", *FIRST_HOURS),
        ("reset",),
        ("rewind", "--to-batch", "8"),
    ):
        done = terminal.typed(words[0], SPEC.name, *words[1:])
        assert done.exit_code == NOT_DONE, done.output
        assert done.stdout.splitlines()[-1] == "nothing is done yet: add --execute"
    assert terminal.sluice("--execute", "--yes").exit_code == 0
    assert terminal.sluice().exit_code == 0, "no late record waits"


def test_where_nobody_can_answer_it_fails_and_does_not_wait_for_ever(terminal):
    assert terminal.sluice("--execute", typed="").exit_code == 1
    assert list(terminal.root.states().values()) == ["rejected"]


def test_an_excision_stands_where_nobody_can_answer(terminal):
    at, paths = DAY + timedelta(hours=1, minutes=30), terminal.root.paths
    keep(paths.root, Excision(
        id="x1", topic="sales", topic_id="topic-1", where="", start=at, end=at, reason="wrong",
        who="ana", at=at, records=1, places={0: "3"}, slots=slots_of([(at - EPOCH) // MICROSECOND]),
    ))  # fmt: skip
    words = ("excise", "--topic", "sales", "--execute")
    assert terminal.typed(*words, typed="").exit_code == 1
    assert [each.id for each in read_failing(paths.failing).excised] == ["x1"]
    assert terminal.typed(*words, "--yes").exit_code == 0
    assert sorted(terminal.root.states().values()) == ["rejected", "swapped"]


def test_approved_beforehand_it_asks_nobody_and_shows_the_rows(terminal):
    done = terminal.sluice("--execute", "--yes")
    assert done.exit_code == 0, done.output
    assert SHOWN in done.stdout
    assert "Swap this change in?" not in done.stdout
    assert list(terminal.root.states().values()) == ["swapped"]


def test_while_another_repair_is_computed_the_plan_says_by_whom_and_none_is_begun(terminal):
    with lease(terminal.root.paths.staging_lease, "backfill-cli-1"):
        shown, done = terminal.sluice(), terminal.sluice("--execute", typed="y\n")
    assert shown.exit_code == NOT_DONE, shown.output
    held = "another repair is being computed by run backfill-cli-1 (process "
    assert held in shown.stdout
    assert f", since {datetime.now(UTC):%F}" in shown.stdout
    assert done.exit_code == LeaseHeld.exit_status, done.output
    assert done.stderr.startswith(f"LEASE_HELD {SPEC.name}: {held}")
    assert (terminal.started, terminal.root.paths.stagings.exists()) == (0, False)
    assert held not in terminal.sluice().stdout, "it has ended"


def test_what_a_person_approved_and_no_swap_ended_waits_for_no_person(terminal, monkeypatch):
    """No command swaps it in later, so coverage calls its day late, and names the repair."""
    with monkeypatch.context() as active:
        active.setattr(failpoint, "ACTIVE", {"swap.leased": "raise"})
        assert isinstance(terminal.sluice("--execute", "--yes").exception, failpoint.Failure)
    assert (list(terminal.root.states().values()), terminal.coverage()) == (["staged"], "late")
    assert terminal.sluice("--execute", "--yes").exit_code == 0
    assert terminal.coverage() == "canonical"


def test_rows_that_cannot_be_shown_do_not_end_the_question(terminal, monkeypatch):
    stage = terminal._stage  # noqa: SLF001 - of this file

    def with_torn_changes(words: list[str], *more: object):
        stage(words, *more)
        job = read(words[-1:])
        assert isinstance(job, Stage)
        for file in Path(str(terminal.root.paths.staging(job.repair_id) / "changes")).glob(
            "*.parquet"
        ):
            file.unlink()

    monkeypatch.setattr(foreground, "run_in_foreground", with_torn_changes)
    done = terminal.sluice("--execute", typed="y\n")
    assert done.exit_code == 0, done.output
    assert "the rows cannot be shown: " in done.stdout
    assert list(terminal.root.states().values()) == ["swapped"]


def test_a_terminal_that_goes_before_the_question_ends_the_repair(terminal, monkeypatch):
    def gone(*_: object):
        raise BrokenPipeError

    monkeypatch.setattr(carrying, "_show", gone)
    assert terminal.sluice("--execute", typed="y\n").exit_code
    assert list(terminal.root.states().values()) == ["rejected"]
    assert terminal.coverage() == "late"


def test_a_plan_refused_behind_a_drain_is_remembered_and_not_tried_again(terminal, monkeypatch):
    """Whoever runs by cron would fail by it for ever."""
    monkeypatch.setenv("SLUICE_ROOT", terminal.root.settings.root)
    monkeypatch.setenv("SLUICE_KAFKA", "127.0.0.1:1")
    asked = Asked((None, None), "", 1, without_lost=False)
    paths = terminal.root.paths
    assert untried(SPEC, paths) == 1
    with pytest.raises(typer.Exit):
        carry_out("repair", SPEC.name, asked, yes=False, execute=True, behind=f"{RUN_PREFIX}x")
    assert untried(SPEC, paths) == 0
    rows = terminal.root.told("runs", "kind, problem")
    assert [row["problem"] for row in rows if row["kind"] == "repair"] == ["RANGE_INVALID"]
