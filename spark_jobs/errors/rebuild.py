"""A rebuild, and the version that lives."""

from __future__ import annotations

from datetime import datetime

from spark_jobs.errors.base import SluiceError, reason


class RebuildRefused(SluiceError):
    """The rebuild cannot begin, go on, switch or be taken back as things are."""

    code, exit_status = "REBUILD_REFUSED", 94
    usual_remedy = "Do what the line says; the live table and its checkpoint are as they were."

    @reason(
        "{pipeline}: a rebuild cannot be reset.",
        "Remove it, and begin anew: sluice rebuild {pipeline} --discard --execute",
    )
    def reset_of_rebuild(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: SLUICE_NEXT asks for a rebuild of NEXT. None is under way.",
        "Give the command without SLUICE_NEXT.",
    )
    def no_rebuild_of_next(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: only the topic's archive has {count:,} records that the rebuild needs. They "
        "are not in it yet.",
        "Let it compute them: sluice rebuild {pipeline} --execute. In Airflow, clear the task "
        "stage, with all behind it. To lose them: add --without-lost.",
    )
    def archive_unread(self, pipeline: object, count: int) -> None: ...

    @reason(
        "{pipeline}: somebody else began a rebuild after this command looked.",
        "Give the same command again. It goes on with that one.",
    )
    def begun_meanwhile(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: {who} began a rebuild on {began} with another NEXT: {differences}.",
        "Take the change of NEXT back to go on with it; or {begin_anew}.",
    )
    def next_changed(
        self,
        pipeline: object,
        who: object,
        began: datetime,
        differences: object,
        begin_anew: object,
    ) -> None: ...

    @reason(
        "{pipeline}: topic {topic!r} was deleted and created again since the rebuild began on "
        "{began}. Its offsets mean other records.",
        "To rebuild from the new topic, {begin_anew}.",
    )
    def topic_remade(
        self, pipeline: object, topic: object, began: datetime, begin_anew: object
    ) -> None: ...

    @reason(
        "{folder} is being written by {holder}.",
        "Wait until it ends, or stop it.",
    )
    def held(self, folder: object, holder: object) -> None: ...

    @reason(
        "{pipeline}: spec.py defines no NEXT. There is nothing to rebuild.",
        "Keep SPEC. Write below it NEXT = SPEC.model_copy(update={{'steps': (...), 'state': "
        "SPEC.state.model_copy(update={{'version': {free}}})}}).",
    )
    def no_next(self, pipeline: object, free: object) -> None: ...

    @reason(
        "{pipeline}: NEXT, of state version {version}, is live already.",
        "Rename it to SPEC in spec.py when you like. Or switch back: `sluice rebuild {pipeline} "
        "--back`.",
    )
    def next_is_live(self, pipeline: object, version: object) -> None: ...

    @reason(
        "{pipeline}: the version before the switch is {wanted}. spec.py has no spec of it for "
        "drains to go on with.",
        "Put the former spec, with state=State(version={wanted}), back as NEXT.",
    )
    def former_spec_absent(self, pipeline: object, wanted: object) -> None: ...

    @reason(
        "{pipeline} was never drained. There is no table to rebuild.",
        "Change SPEC itself, and run it: sluice drain {pipeline}",
    )
    def never_drained(self, pipeline: object) -> None: ...

    @reason(
        "{folder} is there. An older Sluice has begun a rebuild, in a root of its own.",
        "Complete it with that version of Sluice. Or remove it: `sluice rebuild {pipeline} "
        "--discard --execute`.",
    )
    def older_rebuild(self, folder: object, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: the rebuild has no batch yet.",
        "Run it: sluice rebuild {pipeline} --execute",
    )
    def no_batch_yet(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: the live pipeline has read {missing:,} offsets that the rebuild has not.",
        "Let it catch up: sluice rebuild {pipeline} --execute",
    )
    def behind_live(self, pipeline: object, missing: int) -> None: ...

    @reason(
        "{pipeline}: an older Sluice switched, into the table of the version before.",
        "Go back with that version of Sluice. {again}",
    )
    def older_switch(self, pipeline: object, again: object) -> None: ...

    @reason(
        "{pipeline}: {folder} or {table} is gone. `sluice maintain` removes them some days after "
        "a switch.",
        "{again}",
    )
    def former_removed(
        self, pipeline: object, folder: object, table: object, again: object
    ) -> None: ...

    @reason(
        "{pipeline}: {folder} and {table} are no longer the ones from before the switch.",
        "{again}",
    )
    def former_replaced(
        self, pipeline: object, folder: object, table: object, again: object
    ) -> None: ...

    @reason(
        "{pipeline}: there is no switch to take back.",
        "Go back within a state version with `sluice rewind {pipeline}`.",
    )
    def no_switch(self, pipeline: object) -> None: ...

    @reason(
        "{checkpoint} did not write the table {table}.",
        "See what is wrong with it: sluice plan {pipeline}",
    )
    def live_table_foreign(self, table: object, checkpoint: object, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: {holder} computes a repair of the table that the switch replaces.",
        "Wait until it ends, or stop it.",
    )
    def repair_computing(self, pipeline: object, holder: object) -> None: ...

    @reason(
        "{pipeline}: batches {first} to {newest} of the rebuild have not passed their account "
        "and checks.",
        "Run it again: sluice rebuild {pipeline} --execute. A failed check is accepted with "
        "SLUICE_NEXT=on sluice accept {pipeline}.",
    )
    def unjudged(self, pipeline: object, first: object, newest: object) -> None: ...

    @reason(
        "{pipeline}: since the question was shown, {differences}. The answer is about what was "
        "shown.",
        "Clear the task plan, with all behind it. It computes what is missing, and you are asked "
        "again.",
    )
    def question_outdated(self, pipeline: object, differences: object) -> None: ...

    @reason(
        "{pipeline}: there is no rebuild to switch to.",
        "Compute it: sluice rebuild {pipeline} --execute",
    )
    def no_rebuild(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: the rebuild that this DAG run planned was discarded, or switched to.",
        "Trigger the DAG again.",
    )
    def rebuild_gone(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: NEXT, or a check of it, has changed since this DAG run planned.",
        "Clear the task plan, with all behind it, to go on with NEXT as it is now.",
    )
    def next_changed_since_plan(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: state version {version} drains, by another switch than was approved here. "
        "The live table is another one than was shown.",
        "Trigger the DAG again if NEXT is still to replace it.",
    )
    def switched_otherwise(self, pipeline: object, version: object) -> None: ...

    @reason(
        "{pipeline}: nobody has approved the switch in this DAG run.",
        "Clear the task approve, and answer it.",
    )
    def not_approved(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: another version of Sluice put the question of this DAG run. What was "
        "approved cannot be compared with what is there.",
        "Clear the task approve, and answer it again.",
    )
    def question_of_other_version(self, pipeline: object) -> None: ...

    @reason(
        "{pipeline}: another version of Sluice planned this DAG run. Its plan lacks {missing}. "
        "Nobody can tell whether NEXT is still the same.",
        "Clear the task plan, with all behind it, to plan again and go on.",
    )
    def plan_of_other_version(self, pipeline: object, missing: object) -> None: ...


class VersionNotLive(SluiceError):
    """spec.py has no spec of the state version that the live table is of."""

    code, exit_status = "VERSION_NOT_LIVE", 95
    usual_remedy = "Put the spec of that state version into spec.py, as SPEC or as NEXT."

    @reason(
        "{folder} is no longer live: {live}.",
        "Give the same command again.",
    )
    def switched_meanwhile(self, folder: object, live: object) -> None: ...

    @reason(
        "{pipeline}: state version {wanted} drains. spec.py has SPEC of version {version}{also}.",
        "Deploy the spec with state=State(version={wanted}), as SPEC or still as NEXT. Or switch "
        "back: `sluice rebuild {pipeline} --back`. Or begin with SPEC: `sluice reset {pipeline}`.",
    )
    def spec_absent(
        self, pipeline: object, wanted: object, version: object, also: object
    ) -> None: ...
