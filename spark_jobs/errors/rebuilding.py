"""A rebuild, and the version that lives."""

from __future__ import annotations

from spark_jobs.errors.base import SluiceError, reason


class RebuildRefused(SluiceError):
    """The rebuild cannot begin, go on, switch or be taken back as things are."""

    code, exit_status = "REBUILD_REFUSED", 94
    usual_remedy = "Do what the line says; the live table and its checkpoint are as they were."

    reset_of_rebuild = reason(
        "{pipeline}: a rebuild cannot be reset.",
        "Remove it, and begin anew: sluice rebuild {pipeline} --discard --execute",
    )
    unpublished = reason(
        "{pipeline}: what a rebuild computes is not published before the switch to it.",
        "Give the command without SLUICE_NEXT. To switch: sluice rebuild {pipeline} --execute",
    )
    no_rebuild_of_next = reason(
        "{pipeline}: no rebuild of NEXT is under way.",
        "Begin it: sluice rebuild {pipeline} --execute. Or give the command without --next "
        "(SLUICE_NEXT).",
    )
    archive_unread = reason(
        "{pipeline}: only the topic's archive has {count:,} records that the rebuild needs. They "
        "are not in it yet.",
        "Let it compute them: sluice rebuild {pipeline} --execute. In Airflow, clear the task "
        "stage, with all behind it. To lose them: add --without-lost.",
    )
    begun_meanwhile = reason(
        "{pipeline}: somebody else began a rebuild after this command looked.",
        "Give the same command again. It goes on with that one.",
    )
    next_changed = reason(
        "{pipeline}: {who} began a rebuild on {began} with another NEXT: {differences}.",
        "Take the change of NEXT back to go on with it; or {begin_anew}.",
    )
    excisions_lacking = reason(
        "{pipeline}: the live table leaves records out that NEXT does not: excisions {excisions}.",
        "Let NEXT take them over too: sluice excise --topic TOPIC --execute. Or end them, as where "
        "NEXT takes values apart otherwise: --lift ID.",
    )
    topic_remade = reason(
        "{pipeline}: topic {topic!r} was deleted and created again since the rebuild began on "
        "{began}. Its offsets mean other records.",
        "To rebuild from the new topic, {begin_anew}.",
    )
    no_next = reason(
        "{pipeline}: spec.py defines no NEXT. There is nothing to rebuild.",
        "Keep SPEC. Write below it NEXT = SPEC.model_copy(update={{'steps': (...), 'state': "
        "SPEC.state.model_copy(update={{'version': {free}}})}}).",
    )
    next_is_live = reason(
        "{pipeline}: NEXT, of state version {version}, is live already.",
        "Rename it to SPEC in spec.py when you like. Or switch back: `sluice rebuild {pipeline} "
        "--back`.",
    )
    former_spec_absent = reason(
        "{pipeline}: the version before the switch is {wanted}. spec.py has no spec of it for "
        "drains to go on with.",
        "Put the former spec, with state=State(version={wanted}), back as NEXT.",
    )
    never_drained = reason(
        "{pipeline} was never drained. There is no table to rebuild.",
        "Change SPEC itself, and run it: sluice drain {pipeline}",
    )
    older_rebuild = reason(
        "{folder} is there. An older Sluice has begun a rebuild, in a root of its own.",
        "Complete it with that version of Sluice. Or remove the folder, and begin anew.",
    )
    no_batch_yet = reason(
        "{pipeline}: the rebuild has no batch yet.", "Run it: sluice rebuild {pipeline} --execute"
    )
    behind_live = reason(
        "{pipeline}: the live pipeline has read {missing:,} offsets that the rebuild has not.",
        "Let it catch up: sluice rebuild {pipeline} --execute",
    )
    older_switch = reason(
        "{pipeline}: an older Sluice switched, into the table of the version before.",
        "Go back with that version of Sluice. {again}",
    )
    former_removed = reason(
        "{pipeline}: {folder} or {table} is gone. `sluice maintain` removes them some days after "
        "a switch.",
        "{again}",
    )
    former_replaced = reason(
        "{pipeline}: {folder} and {table} are no longer the ones from before the switch.", "{again}"
    )
    no_switch = reason(
        "{pipeline}: there is no switch to take back.",
        "Go back within a state version with `sluice rewind {pipeline}`.",
    )
    live_table_foreign = reason(
        "{checkpoint} did not write the table {table}.",
        "See what is wrong with it: sluice plan {pipeline}",
    )
    repair_computing = reason(
        "{pipeline}: {holder} computes a repair of the table that the switch replaces.",
        "Wait until it ends, or stop it.",
    )
    unjudged = reason(
        "{pipeline}: batches {first} to {newest} of the rebuild have not passed their account "
        "and checks.",
        "Run it again: sluice rebuild {pipeline} --execute. A failed check is accepted with "
        "sluice accept {pipeline} --next.",
    )
    question_outdated = reason(
        "{pipeline}: since the question was shown, this has changed: {differing}. The answer is "
        "about what was shown.",
        "Clear the task plan, with all behind it. It computes what is missing, and you are asked "
        "again.",
    )
    no_rebuild = reason(
        "{pipeline}: there is no rebuild to switch to.",
        "Compute it: sluice rebuild {pipeline} --execute",
    )
    not_approved = reason(
        "{pipeline}: nobody has approved the switch in this DAG run.",
        "Clear the task approve, and answer it.",
    )
