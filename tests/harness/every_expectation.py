"""Every expectation of Great Expectations that judges a frame, with arguments for FRAME.

`python every_expectation.py plain|light pandas|spark` writes their results as JSON: with the
package imported as its guide does, or as a run does.
"""

import json
import sys
from datetime import UTC, datetime

FRAME = {
    "n": [1, 2, 2, 3, 40, None],
    "m": [1, 2, 2, 3, 40, 6],
    "x": [0.5, 1.5, 2.5, 2.5, -9.0, 7.25],
    "y": [0.5, 1.0, 2.5, 2.0, -9.5, 7.0],
    "t": ["a", "b", "b", "cc", None, "2013-01-01"],
    "u": ["a", "b", "c", "d", "e", "f"],
    "j": ['{"a": 1}', '{"a": "b"}', "[1]", "7", None, "3"],
    "at": [datetime(2013, 1, day, tzinfo=UTC) for day in (1, 2, 3, 4, 5, 6)],
}
BINS = {"bins": [-10.0, 0.0, 1.0, 3.0, 8.0], "weights": [0.1, 0.2, 0.5, 0.2]}
NUMBER = {"type": "object", "properties": {"a": {"type": "number"}}}
LIKE = {"column": "t", "like_pattern_list": ["a%", "b%"]}
EVERY = {
    "expect_column_distinct_values_to_be_in_set": {"column": "m", "value_set": [1, 2, 3]},
    "expect_column_distinct_values_to_contain_set": {"column": "m", "value_set": [1, 2]},
    "expect_column_distinct_values_to_equal_set": {"column": "u", "value_set": ["a", "b"]},
    "expect_column_kl_divergence_to_be_less_than": {
        "column": "x",
        "partition_object": BINS,
        "threshold": 0.9,
        "tail_weight_holdout": 0.01,
        "internal_weight_holdout": 0.01,
    },
    "expect_column_max_to_be_between": {"column": "x", "min_value": 1, "max_value": 8},
    "expect_column_mean_to_be_between": {"column": "x", "min_value": 0.1, "max_value": 0.2},
    "expect_column_median_to_be_between": {"column": "x", "min_value": 1, "max_value": 3},
    "expect_column_min_to_be_between": {"column": "at", "min_value": "2013-01-01"},
    "expect_column_most_common_value_to_be_in_set": {"column": "m", "value_set": [2]},
    "expect_column_pair_values_a_to_be_greater_than_b": {"column_A": "x", "column_B": "y"},
    "expect_column_pair_values_to_be_equal": {"column_A": "n", "column_B": "m"},
    "expect_column_pair_values_to_be_in_set": {
        "column_A": "m",
        "column_B": "u",
        "value_pairs_set": [(1, "a"), (2, "b")],
    },
    "expect_column_proportion_of_non_null_values_to_be_between": {"column": "n", "min_value": 0.9},
    "expect_column_proportion_of_unique_values_to_be_between": {"column": "m", "min_value": 0.9},
    "expect_column_quantile_values_to_be_between": {
        "column": "x",
        "quantile_ranges": {"quantiles": [0.1, 0.5], "value_ranges": [[-9, 0], [1, 2]]},
    },
    "expect_column_stdev_to_be_between": {"column": "x", "min_value": 5, "max_value": 6},
    "expect_column_sum_to_be_between": {"column": "m", "min_value": 54, "max_value": 54},
    "expect_column_to_exist": {"column": "nope"},
    "expect_column_type_to_be": {"column": "t", "type_": "StringType"},
    "expect_column_unique_value_count_to_be_between": {"column": "m", "max_value": 4},
    "expect_column_value_lengths_to_be_between": {"column": "t", "max_value": 2},
    "expect_column_value_lengths_to_equal": {"column": "t", "value": 1},
    "expect_column_value_z_scores_to_be_less_than": {
        "column": "x",
        "threshold": 1,
        "double_sided": True,
    },
    "expect_column_values_to_be_between": {"column": "m", "min_value": 1, "max_value": 5},
    "expect_column_values_to_be_dateutil_parseable": {"column": "t"},
    "expect_column_values_to_be_decreasing": {"column": "m"},
    "expect_column_values_to_be_in_set": {"column": "t", "value_set": ["a", "b"]},
    "expect_column_values_to_be_in_type_list": {"column": "t", "type_list": ["StringType", "str"]},
    "expect_column_values_to_be_increasing": {"column": "m"},
    "expect_column_values_to_be_json_parseable": {"column": "j"},
    "expect_column_values_to_be_null": {"column": "n"},
    "expect_column_values_to_be_of_type": {"column": "x", "type_": "float"},
    "expect_column_values_to_be_unique": {"column": "m"},
    "expect_column_values_to_match_json_schema": {"column": "j", "json_schema": NUMBER},
    "expect_column_values_to_match_like_pattern": {"column": "t", "like_pattern": "a%"},
    "expect_column_values_to_match_like_pattern_list": LIKE,
    "expect_column_values_to_match_regex": {"column": "t", "regex": "^[a-z]+$"},
    "expect_column_values_to_match_regex_list": {"column": "t", "regex_list": ["^a", "^b"]},
    "expect_column_values_to_match_strftime_format": {"column": "t", "strftime_format": "%Y-%m-%d"},
    "expect_column_values_to_not_be_in_set": {"column": "t", "value_set": ["a", "b"]},
    "expect_column_values_to_not_be_null": {"column": "n"},
    "expect_column_values_to_not_be_outliers": {"column": "x"},
    "expect_column_values_to_not_match_like_pattern": {"column": "t", "like_pattern": "a%"},
    "expect_column_values_to_not_match_like_pattern_list": LIKE,
    "expect_column_values_to_not_match_regex": {"column": "t", "regex": "^[a-z]+$"},
    "expect_column_values_to_not_match_regex_list": {"column": "t", "regex_list": ["^a", "^b"]},
    "expect_compound_columns_to_be_unique": {"column_list": ["m", "t"]},
    "expect_multicolumn_sum_to_equal": {"column_list": ["m", "x"], "sum_total": 1.5},
    "expect_multicolumn_values_to_be_equal": {"column_list": ["m", "n"]},
    "expect_query_results_to_match_comparison": {
        "base_query": "SELECT m FROM {batch}",
        "comparison_data_source_name": "other",
        "comparison_query": "SELECT 1",
    },
    "expect_select_column_values_to_be_unique_within_record": {"column_list": ["m", "n"]},
    "expect_table_column_count_to_be_between": {"min_value": 1, "max_value": 3},
    "expect_table_column_count_to_equal": {"value": 8},
    "expect_table_columns_to_match_ordered_list": {"column_list": ["n", "m"]},
    "expect_table_columns_to_match_set": {"column_set": ["n", "m"], "exact_match": False},
    "expect_table_row_count_to_be_between": {"min_value": 1, "max_value": 6},
    "expect_table_row_count_to_equal": {"value": 5},
    "expect_table_row_count_to_equal_other_table": {"other_table_name": "other"},
    "unexpected_rows_expectation": {"unexpected_rows_query": "SELECT * FROM {batch} WHERE m > 2"},
}


def results(engine):
    """By type: what it found, or why it could not."""
    import great_expectations as gx  # noqa: PLC0415 - how they are imported is compared
    from great_expectations.expectations.registry import list_registered_expectation_implementations  # noqa: PLC0415 - how they are imported is compared

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    if engine == "spark":
        from pyspark.sql import SparkSession  # noqa: PLC0415 - how they are imported is compared

        rows = [dict(zip(FRAME, row, strict=True)) for row in zip(*FRAME.values(), strict=True)]
        frame = SparkSession.builder.master("local[1]").getOrCreate().createDataFrame(rows)
        source = context.data_sources.add_spark(engine, persist=False)
    else:
        import pandas as pd  # noqa: PLC0415 - how they are imported is compared

        frame = pd.DataFrame(FRAME)
        source = context.data_sources.add_pandas(engine)
    asset = source.add_dataframe_asset(engine).add_batch_definition_whole_dataframe(engine)
    batch = asset.get_batch({"dataframe": frame})
    found = {name: judged(batch, name) for name in EVERY}
    return {"known": sorted(list_registered_expectation_implementations()), "found": found}


def judged(batch, name):
    from great_expectations.expectations.expectation_configuration import ExpectationConfiguration  # noqa: PLC0415 - how they are imported is compared

    try:
        wanted = ExpectationConfiguration(type=name, kwargs=EVERY[name]).to_domain_obj()
        shown = {"result_format": "SUMMARY", "partial_unexpected_count": 20}
        found = batch.validate(wanted, result_format=shown).to_json_dict()
    except Exception as error:  # noqa: BLE001 - its text is compared
        return f"{type(error).__name__}: {error}"
    for each in found["exception_info"].values():
        if isinstance(each, dict):
            each.pop("exception_traceback", None)  # line numbers
    found["exception_info"].pop("exception_traceback", None)
    return found


HEAVY = ("sqlalchemy", "botocore", "grpc", "scipy.optimize", "altair.vegalite")
"""Clients and parts that judge no frame."""


def main(how, engine):
    """Also what the import has loaded of HEAVY, and what two of it give whoever imports them then."""
    if how == "light":
        from spark_jobs.checks import great_expectations  # noqa: PLC0415 - as above

        great_expectations()
    loaded = [name for name in HEAVY if name in sys.modules]
    found = results(engine)
    import scipy.stats  # noqa: PLC0415 - as above
    import sqlalchemy  # noqa: PLC0415 - as above

    behind = [round(scipy.stats.norm.cdf(0), 1), sqlalchemy.__name__]
    sys.stdout.write(json.dumps(found | {"loaded": loaded, "behind": behind}, default=str))


if __name__ == "__main__":
    main(*sys.argv[1:])
