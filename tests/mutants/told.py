"""Mutants of this subject. See mutant.py."""

from tests.mutants.mutant import Mutant

TEST = "tests/airflow/test_told.py"
TOLD = "plugins/sluice_airflow/told.py"
MESSAGE = "plugins/sluice_airflow/message.py"
CHANNELS = "plugins/sluice_airflow/channels.py"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "a problem is told in every run",
        TOLD,
        "if name not in before.get(key, ())}",
        "if name}",
        f"{TEST}::test_a_problem_is_told_once_through_retries_and_runs_and_once_when_it_is_over",
    ),
    Mutant(
        "what no server took counts as told",
        TOLD,
        "        return False\n",
        "        return True\n",
        f"{TEST}::test_a_server_that_fails_changes_no_verdict_and_the_next_run_tells",
    ),
    Mutant(
        "a decision of a person leaves the problem open",
        TOLD,
        "    if task == PUBLISH:\n",
        "    if task == SPEC:\n",
        f"{TEST}::test_rows_that_a_person_accepted_and_that_are_published_are_a_problem_no_more",
    ),
    Mutant(
        "text of a record is a template of the mail",
        CHANNELS,
        "notifier.notify({})",
        "notifier({})",
        f"{TEST}::test_hostile_text_stays_text_in_mail_and_chat",
    ),
    Mutant(
        "text of a record calls everybody in a chat",
        CHANNELS,
        "message.text.translate(MARKUP)",
        "message.text",
        f"{TEST}::test_hostile_text_stays_text_in_mail_and_chat",
    ),
    Mutant(
        "the secret address of the webhook is in the log",
        CHANNELS,
        "{WEBHOOK!r} answered with",
        "{address!r} answered with",
        f"{TEST}::test_a_server_that_fails_changes_no_verdict_and_the_next_run_tells",
    ),
    Mutant(
        "an engine's error brings a record's value into the message",
        MESSAGE,
        "isinstance(error, QUOTING) or ",
        "",
        f"{TEST}::test_an_error_that_may_quote_a_record_is_told_without_its_text",
    ),
    Mutant(
        "a repair that cannot be started is told over and again in each run",
        TOLD,
        "if name not in {PUBLISH, REPAIR})",
        "if name != PUBLISH)",
        f"{TEST}::test_a_repair_that_cannot_be_started_is_told_once_though_publish_succeeds_before_it",
    ),
)
