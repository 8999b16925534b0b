"""Mutants of Great Expectations' documents. See mutant.py."""

from tests.mutants.mutant import Mutant

UNIT = "tests/unit/test_documents.py"
WEB = "tests/airflow/test_web.py"
FOLDER = "spark_jobs/documents"
ROUTE = "plugins/sluice_airflow/web"
SAFE = f"{UNIT}::test_whatever_a_value_says_it_is_text_and_a_document_has_no_script_and_no_address"
WITHOUT = f"{UNIT}::test_without_the_right_a_document_has_no_value_of_a_record"

MUTANTS: tuple[Mutant, ...] = (
    Mutant(
        "values go through Great Expectations' templates as they are",
        f"{FOLDER}/masked.py",
        "            return visible(str(value), MOST_CHARACTERS).translate(_MASK)",
        "            return visible(str(value), MOST_CHARACTERS)",
        SAFE,
    ),
    Mutant(
        "keys go through Great Expectations' templates as they are",
        f"{FOLDER}/masked.py",
        "    text = visible(str(key), MOST_CHARACTERS).translate(_MASK)",
        "    text = visible(str(key), MOST_CHARACTERS)",
        f"{UNIT}::test_a_masked_value_is_of_plain_types_and_keeps_its_numbers_and_its_keys_are_masked_too",
    ),
    Mutant(
        "a value in a document has no end",
        f"{FOLDER}/masked.py",
        "            return visible(str(value), MOST_CHARACTERS).translate(_MASK)",
        "            return visible(str(value)).translate(_MASK)",
        f"{UNIT}::test_a_value_is_cut_and_says_so_and_so_is_a_list",
    ),
    Mutant(
        "a document has the tags that came",
        f"{FOLDER}/allowed.py",
        "        if tag not in TAGS:\n",
        "        if False:\n",
        f"{UNIT}::test_whatever_markup_comes_what_is_written_is_harmless_and_is_not_changed_again",
    ),
    Mutant(
        "a stored document is served as it is",
        f"{FOLDER}/page.py",
        "{cleaned(body)}",
        "{body}",
        f"{UNIT}::test_what_somebody_put_in_the_place_of_a_document_is_cleaned_again",
    ),
    Mutant(
        "a document without values has the failing ones",
        f"{FOLDER}/gx.py",
        '    if values and "unexpected_count" in found:',
        '    if "unexpected_count" in found:',
        WITHOUT,
    ),
    Mutant(
        "a document without values has what was observed, text too",
        f"{FOLDER}/gx.py",
        "    if values or kind in OF_THE_TABLE",
        "    if True or kind in OF_THE_TABLE",
        WITHOUT,
    ),
    Mutant(
        "a document without values quotes errors",
        f"{FOLDER}/gx.py",
        "if raised and values else NOT_QUOTED",
        "if raised else NOT_QUOTED",
        WITHOUT,
    ),
    Mutant(
        "documents with values are stored whatever the setting says",
        f"{FOLDER}/kept.py",
        '            if self._settings.record_bytes == "shown":',
        "            if self._settings.record_bytes:",
        f"{UNIT}::test_values_are_stored_only_where_the_setting_shows_them_and_in_a_folder_of_their_own",
    ),
    Mutant(
        "documents are stored without the setting",
        f"{FOLDER}/kept.py",
        '        if self._settings.documents == "on":',
        "        if self._settings.documents:",
        f"{UNIT}::test_without_the_setting_nothing_is_kept_stored_or_loaded",
    ),
    Mutant(
        "a document that cannot be stored fails the run",
        f"{FOLDER}/kept.py",
        "        except Exception as error:",
        "        except ValueError as error:",
        f"{UNIT}::test_a_document_that_cannot_be_written_or_made_is_a_warning_and_no_more",
    ),
    Mutant(
        "documents never expire",
        "spark_jobs/admin/maintain.py",
        '    folders += [(each, "documents") for each in document_folders(settings.root, pipeline)]\n',
        "",
        "tests/unit/test_maintain.py::test_documents_expire_as_reports_do_with_and_without_values",
    ),
    Mutant(
        "the document of a run asks for no right",
        f"{ROUTE}/documents.py",
        "(pipeline: Permitted, run_id: RunId, withheld: BytesWithheld)",
        "(pipeline: str, run_id: RunId, withheld: str | None = None)",
        f"{WEB}::test_every_route_answers_for_ones_own_pipeline_and_none_names_or_shows_anothers",
    ),
    Mutant(
        "every reader gets the document with values",
        f"{ROUTE}/documents.py",
        "values=withheld is None",
        "values=True",
        f"{WEB}::test_a_document_with_values_is_for_those_who_may_see_bytes_of_records",
    ),
    Mutant(
        "a document is in no sandbox",
        f"{ROUTE}/headers.py",
        '                    own["content-security-policy"] = OF_A_DOCUMENT\n',
        "                    pass\n",
        f"{WEB}::test_a_document_of_great_expectations_is_in_a_sandbox_with_its_style_and_nothing_else",
    ),
    Mutant(
        "every run's page leads to a document",
        f"{ROUTE}/pages.py",
        "        document = is_stored(root, pipeline, found.line.run_id)",
        "        document = root is not None",
        f"{WEB}::test_the_page_of_a_run_leads_to_its_document_where_there_is_one",
    ),
    Mutant(
        "a drain gives its document nothing of the rows",
        "spark_jobs/runs/evaluation.py",
        "            run, drained.table_version_before, drained.table_version, kept.add\n",
        "            run, drained.table_version_before, drained.table_version\n",
        "tests/spark/test_drain.py::"
        "test_three_deliveries_drained_one_by_one_give_the_canonical_result_less_what_was_late",
    ),
    Mutant(
        "runs whose ids differ in a colon and a plus share their report",
        "spark_jobs/contract/paths.py",
        "    if plain == run_id:\n",
        "    if plain:\n",
        "tests/unit/test_paths.py::test_two_runs_whose_ids_differ_in_such_characters_alone_have_two_"
        "reports_and_documents",
    ),
    Mutant(
        "a run is shown the document that an older Sluice stored of another",
        "spark_jobs/documents/kept.py",
        'return content if b"<h1>" + title',
        'return content if content or b"<h1>" + title',
        "tests/unit/test_paths.py::test_a_document_of_an_older_sluice_is_found_by_its_run_and_by_no_"
        "other",
    ),
)
