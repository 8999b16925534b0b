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
        f"{PAGES}/bars.py",
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
)
