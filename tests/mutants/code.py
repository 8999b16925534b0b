"""Mutants of what a pipeline's own code is: its digest, what it imports, and how its errors are
told. See mutant.py.
"""

from tests.mutants.mutant import Mutant

UNIT = "tests/unit"

MUTANTS = (
    Mutant(
        "modules that logic.py imports are not in its digest",
        "spark_jobs/contract/environment.py",
        "    if not imports:\n        return own\n",
        "    if imports:\n        return own\n",
        f"{UNIT}/test_environment.py::test_a_module_that_logic_imports_is_as_good_as_logic_itself",
    ),
    Mutant(
        "a module that an imported module imports is not followed",
        "spark_jobs/contract/imports.py",
        "                waiting.append((name, target))\n",
        "                pass\n",
        f"{UNIT}/test_imports.py::test_what_a_module_imports_is_followed_and_a_circle_ends",
    ),
    Mutant(
        "an import that only a type checker sees is code",
        "spark_jobs/contract/imports.py",
        'endswith("TYPE_CHECKING")',
        'endswith("NEVER")',
        f"{UNIT}/test_imports.py::test_it_is_the_projects_modules_wherever_they_are_imported",
    ),
    Mutant(
        "a change of a setting that changes results is only said",
        "spark_jobs/contract/environment.py",
        'now.settings[name], "refused")',
        'now.settings[name], "warned")',
        f"{UNIT}/test_environment.py::test_another_value_of_a_setting_that_changes_results_is_refused",
    ),
    Mutant(
        "settings of results that spark-defaults.conf has stay in force",
        "spark_jobs/launch/session.py",
        "            spark.conf.unset(name)\n",
        "            pass\n",
        "tests/spark/test_sql_settings.py",
    ),
    Mutant(
        "Hadoop's defaults of YARN and MapReduce go with every query",
        "spark_jobs/launch/session.py",
        "    _drop_cluster_defaults(spark)\n    if",
        "    if",
        "tests/spark/test_sql_settings.py::test_hadoops_defaults_of_yarn_and_mapreduce_are_left_out_and_nothing_that_anybody_has_set",
    ),
    Mutant(
        "a handler that is called by name may call its parameters what it likes",
        "spark_jobs/steps/signature.py",
        "signature.bind(**dict.fromkeys(parameters))",
        "signature.bind(*parameters)",
        f"{UNIT}/test_signature.py::test_only_the_timers_handler_is_called_by_name",
    ),
    Mutant(
        "the remedy of code that failed has the digest of logic.py without its imports",
        "spark_jobs/contract/environment.py",
        "    return own and _combined(own, _imports(name))\n",
        "    return own\n",
        f"{UNIT}/test_environment.py::test_code_that_moves_between_its_files_is_one_change_with_one_digest",
    ),
    Mutant(
        "what a processor's init raises is as lost as Spark has it",
        "spark_jobs/runs/query.py",
        "self._run.spec.name, lost)",
        "self._run.spec.name)",
        "tests/spark/test_logic.py::test_it_is_one_error_that_names_the_place_and_the_remedy",
    ),
    Mutant(
        "a run that failed in its query reports nothing of what it had committed",
        "spark_jobs/runs/drain.py",
        "        outcome.drained = _until_failure(",
        "        _until_failure(",
        "tests/spark/test_logic.py::test_code_that_fails_in_a_later_batch_counts_what_came_before_and_goes_on_when_corrected",
    ),
    Mutant(
        "classes that derive from one another in a circle are followed for ever, or wrongly",
        "spark_jobs/contract/scope.py",
        "        found = self.get(name)\n",
        "        found = None\n",
        f"{UNIT}/test_logic_file.py::test_what_python_runs_is_told_as_python_has_it_whatever_the_hierarchy",
    ),
    Mutant(
        "a decorated handler is held to the parameters of the function below",
        "spark_jobs/contract/scope.py",
        "                plain = isinstance(node, ast.FunctionDef) and not node.decorator_list\n",
        "                plain = isinstance(node, ast.FunctionDef)\n",
        f"{UNIT}/test_logic_file.py::test_what_may_work_is_left_to_spark",
    ),
    Mutant(
        "a parameter that takes no name is taken for one that Spark can name",
        "spark_jobs/contract/logic.py",
        "            and not {*asked} & {*unnamed}\n",
        "",
        f"{UNIT}/test_logic_file.py::test_what_cannot_work_is_refused_with_the_line_and_what_is_wanted",
    ),
    Mutant(
        "a batch that is in the table is made again, for its state, by other code",
        "spark_jobs/runs/same_state.py",
        '        "code": other_code,\n',
        "",
        "tests/spark/test_logic.py::test_a_batch_that_is_in_the_table_and_not_in_the_state_is_not_made_again_by_other_code",
    ),
)
