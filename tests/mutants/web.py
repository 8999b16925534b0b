"""Mutants of the views in Airflow's UI. See mutant.py."""

from tests.mutants.mutant import Mutant

WEB = "tests/airflow/test_web.py"
FOLDER = "plugins/sluice_airflow/web"
PAGES = "spark_jobs/pages"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "the app does not ask who is there",
        f"{FOLDER}/app.py",
        "        dependencies=[Depends(get_user)],\n",
        "",
        f"{WEB}::test_no_route_answers_a_person_who_is_not_logged_in",
    ),
    Mutant(
        "FastAPI's own routes are on",
        f"{FOLDER}/app.py",
        "        docs_url=None,\n        redoc_url=None,\n        openapi_url=None,\n",
        "",
        f"{WEB}::test_no_route_answers_a_person_who_is_not_logged_in",
    ),
    Mutant(
        "all pipelines are everybody's",
        f"{FOLDER}/rights.py",
        "    return get_auth_manager().batch_is_authorized_dag(wanted, user=user)",
        "    return get_auth_manager() is not None",
        f"{WEB}::test_every_route_answers_for_ones_own_pipeline_and_none_names_or_shows_anothers",
    ),
    Mutant(
        "who may read a DAG sees its runs",
        f"{FOLDER}/rights.py",
        '        {"method": "GET", "details": dag, "access_entity": DagAccessEntity.RUN},\n',
        "",
        f"{WEB}::test_a_user_who_may_read_dags_and_not_their_runs_sees_no_pipeline",
    ),
    Mutant(
        "the tab of a DAG asks for no right",
        f"{FOLDER}/pages.py",
        '    return pipeline(permitted(dag_id.removesuffix("__backfill"), names))',
        '    return pipeline(dag_id.removesuffix("__backfill"))',
        f"{WEB}::test_every_route_answers_for_ones_own_pipeline_and_none_names_or_shows_anothers",
    ),
    Mutant(
        "who may only look at a DAG gets the button that triggers it",
        f"{FOLDER}/rights.py",
        '        method="POST",\n        access_entity=DagAccessEntity.RUN,\n',
        '        method="GET",\n        access_entity=DagAccessEntity.RUN,\n',
        f"{WEB}::test_the_form_of_a_repair_is_filled_in_and_starts_nothing_for_those_who_may_not",
    ),
    Mutant(
        "the form of a repair is empty, whatever led to it",
        f"{FOLDER}/trigger.py",
        'schema["default"] if given is None else given',
        'schema["default"]',
        f"{WEB}::test_the_form_of_a_repair_is_filled_in_and_starts_nothing_for_those_who_may_not",
    ),
    Mutant(
        "values go into pages as they are",
        f"{PAGES}/templates.py",
        "autoescape=True",
        "autoescape=False",
        f"{WEB}::test_hostile_text_is_text_and_is_cut_and_no_page_has_a_script_or_a_record_s_bytes",
    ),
    Mutant(
        "characters that turn or hide text are not escaped",
        "spark_jobs/contract/visible.py",
        "    if not shown.isprintable():",
        "    if False:",
        f"{WEB}::test_hostile_text_is_text_and_is_cut_and_no_page_has_a_script_or_a_record_s_bytes",
    ),
    Mutant(
        "answers come without their headers",
        f"{FOLDER}/app.py",
        "    app.add_middleware(Headers)\n",
        "",
        f"{WEB}::test_every_answer_forbids_what_a_record_could_start",
    ),
    Mutant(
        "a backfill's DAG run shows the drain of the same id",
        "spark_jobs/ops/history.py",
        "{'=' if drains else '<>'}",
        "{'='}",
        f"{WEB}::test_the_tabs_of_a_dag_and_of_its_backfills_show_the_pipeline_of_each",
    ),
    Mutant(
        "duplicates are counted as accepted too",
        f"{PAGES}/run_bars.py",
        "OUTCOMES[1:-1])",
        "OUTCOMES[2:-1])",
        "tests/unit/test_bars.py::test_the_parts_of_each_bar_add_up_to_what_the_run_read",
    ),
    Mutant(
        "every process of Airflow loads the views",
        f"{FOLDER}/mount.py",
        "from typing import Any\n",
        "from typing import Any\n\nimport fastapi  # noqa: F401\n",
        f"{WEB}::test_importing_what_the_plugin_needs_of_the_views_loads_nothing_heavy",
    ),
    Mutant(
        "with the setting every reader sees the bytes of records",
        f"{FOLDER}/rights.py",
        '    return None if granted else "right"',
        "    return None",
        f"{WEB}::test_with_the_setting_they_are_shown_to_those_who_may_edit_the_dag_and_to_no_reader",
    ),
    Mutant(
        "bytes of records are shown without the setting",
        f"{FOLDER}/rights.py",
        "    if not record_bytes():",
        "    if False:",
        f"{WEB}::test_a_record_s_bytes_are_shown_to_nobody_unless_a_setting_says_so",
    ),
    Mutant(
        "the rows of state are everybody's",
        f"{FOLDER}/readings.py",
        "found.without_rows() if withheld else found",
        "found",
        f"{WEB}::test_a_record_s_bytes_are_shown_to_nobody_unless_a_setting_says_so",
    ),
    Mutant(
        "coverage asks for no right",
        f"{FOLDER}/data.py",
        "def coverage(pipeline: Permitted,",
        "def coverage(pipeline: str,",
        f"{WEB}::test_every_route_answers_for_ones_own_pipeline_and_none_names_or_shows_anothers",
    ),
    Mutant(
        "a value's text is as it is",
        "spark_jobs/ops/record.py",
        "        text=visible(text[:MOST_TEXT]),",
        "        text=text[:MOST_TEXT],",
        f"{WEB}::test_hostile_bytes_are_text_and_hexadecimal_and_bounded",
    ),
    Mutant(
        "what is published counts as unpublished",
        "spark_jobs/ops/waiting.py",
        "AND table_version > {each.published}",
        "AND table_version >= {each.published}",
        f"{WEB}::test_the_overview_says_what_waits_what_is_not_published_and_when_the_next_run_is",
    ),
    Mutant(
        "the server's answers are those of any version",
        "spark_jobs/ops/ops_tables.py",
        "str(stored.metadata().id), stored.version())",
        "str(stored.metadata().id), 0)",
        "tests/unit/test_results.py::"
        "test_an_answer_is_read_once_for_a_version_and_a_new_version_is_seen_at_once",
    ),
    Mutant(
        "the server keeps answers without bound",
        "spark_jobs/ops/results.py",
        "        while self.size > self.most or len(self._answers) > MOST_ANSWERS:",
        "        while False:",
        "tests/unit/test_results.py::"
        "test_the_kept_answers_stay_within_their_bounds_and_the_oldest_go_first",
    ),
    Mutant(
        "two days that wait have one form",
        f"{PAGES}/strip.py",
        "    waits = each.start if each.state in KINDS else None",
        "    waits = None",
        "tests/unit/test_strip.py::"
        "test_neighbours_that_are_alike_are_one_segment_and_two_days_that_wait_are_two",
    ),
    Mutant(
        "the losses of a stage lie on one another",
        f"{PAGES}/flow.py",
        "                at -= count\n",
        "",
        "tests/unit/test_bars.py::"
        "test_what_leaves_each_stage_of_the_account_ends_where_the_next_one_does",
    ),
    Mutant(
        "the report has the failing values",
        f"{PAGES}/html/report.html",
        '<td class="n">{{ check.result.unexpected | shown }}</td>',
        '<td class="n">{{ check.result.sample | shown }}</td>',
        "tests/unit/test_report_file.py::"
        "test_the_report_is_one_file_that_loads_and_runs_nothing_and_has_no_failing_values",
    ),
    Mutant(
        "the page of a pipeline without ranges has a form that its DAG refuses",
        f"{FOLDER}/pages.py",
        "    why = unranged(spec)\n",
        "    why = None\n",
        f"{WEB}::test_the_form_of_a_pipeline_without_ranges_has_a_rebuild_and_says_why",
    ),
    Mutant(
        "the page of an archive has a form of a DAG that there is not",
        f"{FOLDER}/pages.py",
        "        ranged(spec)  # raises: an archive has no such DAG\n",
        "        pass\n",
        f"{WEB}::test_an_archive_has_no_form_since_it_has_no_such_dag",
    ),
    Mutant(
        "a page chooses the rebuild for the person who leaves its form as it is",
        f"{FOLDER}/trigger.py",
        "(None, *choices) if required else choices",
        "choices",
        f"{WEB}::test_the_form_of_a_pipeline_without_ranges_has_a_rebuild_and_says_why",
    ),
)
