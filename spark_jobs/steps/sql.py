"""SQL tree: what Spark's own parser makes of the SQL in a spec, and what of it Sluice refuses.

The parser (CatalystSqlParser) decides: it has no doubt about comments, back-quotes, escapes and
nested queries. It does so in `sluice validate --deep` and in each run, before a record is read. The
little that spec/sql.py refuses when a spec is loaded, without a JVM, would be
refused here too.

Refused are relations other than `rows`, commands, and functions that are not in the allow-list. Not
a deny-list: what a newer Spark adds may reach a file or the JVM, and nobody has looked yet.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import TYPE_CHECKING, Final

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Pipeline
from spark_jobs.spec.columns import Columns
from spark_jobs.spec.sql import REFUSED, SqlText, sql_texts
from spark_jobs.steps.by_rules import refuse_unusable_rules
from spark_jobs.steps.catalyst import Node, below, class_name, full_name, is_kind, sequence

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MOST_ARGUMENTS: Final = {"from_xml": 2, "schema_of_xml": 1}
"""Function that is allowed without the options that follow: rowValidationXSDPath reads a file."""

_EXPRESSIONS = """
! % & * + - / < << <= <=> = == > >= >> >>> ^ | ~
abs acos acosh add_months aes_decrypt aggregate and any any_value approx_count_distinct
approx_percentile approx_top_k approx_top_k_accumulate approx_top_k_combine
approx_top_k_estimate array array_agg array_append array_compact array_contains array_distinct
array_except array_insert array_intersect array_join array_max array_min array_position
array_prepend array_remove array_repeat array_size array_sort array_union arrays_overlap
arrays_zip ascii asin asinh assert_true atan atan2 atanh avg base64 between bigint bin binary
bit_and bit_count bit_get bit_length bit_or bit_xor bitmap_and_agg bitmap_bit_position
bitmap_bucket_number bitmap_construct_agg bitmap_count bitmap_or_agg bool_and bool_or boolean
bround btrim cardinality cast cbrt ceil ceiling char char_length character_length chr coalesce
collate collation collect_list collect_set concat concat_ws contains conv convert_timezone corr
cos cosh cot count count_if count_min_sketch covar_pop covar_samp crc32 csc cume_dist curdate
current_date current_time current_timestamp current_timezone date date_add date_diff date_format
date_from_unix_date date_part date_sub date_trunc dateadd datediff datepart day dayname
dayofmonth dayofweek dayofyear decimal decode degrees dense_rank div double e element_at elt
encode endswith equal_null every exists exp explode explode_outer expm1 extract factorial filter
find_in_set first first_value flatten float floor forall format_number format_string from_csv
from_json from_unixtime from_utc_timestamp from_xml get get_json_object getbit greatest grouping
grouping_id hash hex histogram_numeric hll_sketch_agg hll_sketch_estimate hll_union
hll_union_agg hour hypot if ifnull ilike in initcap inline inline_outer instr int is_valid_utf8
is_valid_variant is_variant_null isnan isnotnull isnull json_array_length json_object_keys
json_tuple kll_merge_agg_bigint kll_merge_agg_double kll_merge_agg_float kll_sketch_agg_bigint
kll_sketch_agg_double kll_sketch_agg_float kll_sketch_get_n_bigint kll_sketch_get_n_double
kll_sketch_get_n_float kll_sketch_get_quantile_bigint kll_sketch_get_quantile_double
kll_sketch_get_quantile_float kll_sketch_get_rank_bigint kll_sketch_get_rank_double
kll_sketch_get_rank_float kll_sketch_merge_bigint kll_sketch_merge_double kll_sketch_merge_float
kll_sketch_to_string_bigint kll_sketch_to_string_double kll_sketch_to_string_float kurtosis lag
last last_day last_value lcase lead least left len length levenshtein like listagg ln
localtimestamp locate log log10 log1p log2 lower lpad ltrim luhn_check make_date
make_dt_interval make_interval make_time make_timestamp make_timestamp_ltz make_timestamp_ntz
make_valid_utf8 make_ym_interval map map_concat map_contains_key map_entries map_filter
map_from_arrays map_from_entries map_keys map_values map_zip_with mask max max_by md5 mean
measure median min min_by minute mod mode month monthname months_between named_struct nanvl
negative next_day not now nth_value ntile nullif nullifzero nvl nvl2 octet_length or overlay
parse_json parse_url percent_rank percentile percentile_approx percentile_cont percentile_disc
pi pmod posexplode posexplode_outer position positive pow power printf quarter quote radians
raise_error rank reduce regexp regexp_count regexp_extract regexp_extract_all regexp_instr
regexp_like regexp_replace regexp_substr regr_avgx regr_avgy regr_count regr_intercept regr_r2
regr_slope regr_sxx regr_sxy regr_syy repeat replace reverse right rint rlike round row_number
rpad rtrim schema_of_csv schema_of_json schema_of_variant schema_of_variant_agg schema_of_xml
sec second sentences sequence session_window sha sha1 sha2 shiftleft shiftright
shiftrightunsigned sign signum sin sinh size skewness slice smallint some sort_array soundex
space split split_part sqrt st_asbinary st_geogfromwkb st_geomfromwkb st_setsrid st_srid stack
startswith std stddev stddev_pop stddev_samp str_to_map string string_agg struct substr
substring substring_index sum tan tanh theta_difference theta_intersection
theta_intersection_agg theta_sketch_agg theta_sketch_estimate theta_union theta_union_agg time
time_bucket time_diff time_from_micros time_from_millis time_from_seconds time_to_micros
time_to_millis time_to_seconds time_trunc timestamp timestamp_micros timestamp_millis
timestamp_seconds tinyint to_binary to_char to_csv to_date to_json to_number to_time
to_timestamp to_timestamp_ltz to_timestamp_ntz to_unix_timestamp to_utc_timestamp to_varchar
to_variant_object to_xml transform transform_keys transform_values translate trim trunc try_add
try_aes_decrypt try_avg try_divide try_element_at try_make_interval try_make_timestamp
try_make_timestamp_ltz try_make_timestamp_ntz try_mod try_multiply try_parse_json try_parse_url
try_subtract try_sum try_to_binary try_to_date try_to_number try_to_time try_to_timestamp
try_url_decode try_validate_utf8 try_variant_get tuple_difference_double
tuple_difference_integer tuple_difference_theta_double tuple_difference_theta_integer
tuple_intersection_agg_double tuple_intersection_agg_integer tuple_intersection_double
tuple_intersection_integer tuple_intersection_theta_double tuple_intersection_theta_integer
tuple_sketch_agg_double tuple_sketch_agg_integer tuple_sketch_estimate_double
tuple_sketch_estimate_integer tuple_sketch_summary_double tuple_sketch_summary_integer
tuple_sketch_theta_double tuple_sketch_theta_integer tuple_union_agg_double
tuple_union_agg_integer tuple_union_double tuple_union_integer tuple_union_theta_double
tuple_union_theta_integer typeof ucase unbase64 unhex unix_date unix_micros unix_millis
unix_seconds unix_timestamp upper url_decode url_encode validate_utf8 var_pop var_samp variance
variant_get vector_avg vector_cosine_similarity vector_inner_product vector_l2_distance
vector_norm vector_normalize vector_sum weekday weekofyear when width_bucket window window_time
xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long xpath_number xpath_short
xpath_string xxhash64 year zeroifnull zip_with
"""
_TABLES = """
collations explode explode_outer inline inline_outer json_tuple posexplode posexplode_outer range
sql_keywords stack variant_explode variant_explode_outer
"""
ALLOWED: Final = frozenset(_EXPRESSIONS.split())
"""Those that an expression may call."""
ALLOWED_TABLES: Final = frozenset(_TABLES.split())
"""Those that stand in a query's FROM."""


ROWS = "rows"
BARE = frozenset({"current_user", "user", "session_user"})
"""Functions that are refused, and that SQL may call without parentheses."""
LEAVES = {
    "UnresolvedRelation",
    "UnresolvedTableValuedFunction",
    "UnresolvedInlineTable",
    "ResolvedInlineTable",
    "LocalRelation",
    "OneRowRelation",
}
"""The leaves of a plan that read a known relation, or values in the text. Others are refused: a
RelationTimeTravel hides the table that it reads.
"""
_STEP = re.compile(r"steps\[(?P<index>\d+)\]\.(?P<field>.*)", re.DOTALL)
Names = frozenset[str]
"""Relations that a query may read, in lower case."""


def refuse_unsafe_trees(spark: SparkSession, spec: Pipeline) -> None:
    """Raise SpecInvalid, which names step, field and reason, for SQL that reaches the JVM, files
    or tables other than `rows`, calls a function that is not allowed, or does not parse; and for a
    rule that is no condition over its topic's columns.
    """
    _refuse_unsafe(spark, spec, sql_texts(spec))
    refuse_unusable_rules(spark, spec)


def _refuse_unsafe(spark: SparkSession, spec: Pipeline, texts: Iterable[SqlText]) -> None:
    columns = _columns(spec)
    for sql in texts:
        if why := reason(spark, sql, columns):
            raise SpecInvalid.expression_refused(
                field=_of_step(spec, sql.field), text=sql.text, why=why
            )


def refuse_unsafe_checks(spark: SparkSession, spec: Pipeline) -> None:
    """The same, of the checks alone: no identity has what they were when a run judged them."""
    every = sql_texts(spec.model_copy(update={"steps": ()}))
    _refuse_unsafe(spark, spec, (each for each in every if "rules[" not in each.field))


def _columns(spec: Pipeline) -> set[str]:
    columns: Columns = spec.inputs.columns
    found = {*spec.inputs.columns}
    for step in spec.steps:
        columns = step.columns_after(columns)
        found |= {*(columns or ())}
    return found


def _of_step(spec: Pipeline, field: str) -> str:
    """What a person calls the field: its step by its number, from 1."""
    if (found := _STEP.match(field)) is None:
        return f"{spec.name}: {field}"
    number = int(found["index"])
    kind = spec.steps[number].kind
    return f"step {number + 1} ({kind}) of {spec.name}: {found['field']}"


def reason(spark: SparkSession, sql: SqlText, columns: Collection[str] = ()) -> str:
    """Why this text is refused; empty if it is not. `columns`: the record's."""
    parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001 - no public way to it
    try:
        tree = parser.parsePlan(sql.text) if sql.query else parser.parseExpression(sql.text)
    except Exception as error:  # noqa: BLE001 - ParseException, whatever PySpark makes of it
        return f"Spark cannot parse it: {str(error).strip().splitlines()[0]}"
    ours = {name.lower() for name in columns}
    found = (
        _call_without_parentheses(node, of, ours) or _wrong(node, of, known, sql)
        for node, of, known in _nodes(tree, frozenset([ROWS]))
    )
    return next(filter(None, found), "")


def _call_without_parentheses(node: Node, of: str, columns: set[str]) -> str:
    """Such a name is a function's unless it is a column (LiteralFunctionResolution)."""
    if class_name(node, of) != "UnresolvedAttribute":
        return ""
    parts = sequence(node.nameParts())
    name = parts[0].lower()
    return "" if len(parts) > 1 or name in columns or name not in BARE else _call([name], BARE, 0)


def _wrong(node: Node, of: str, known: Names, sql: SqlText) -> str:
    """What is wrong with one node of this class; empty if nothing is."""
    name = class_name(node, of)
    if name == "UnresolvedRelation":
        parts = sequence(node.multipartIdentifier())
        given = len(parts) == 1 and parts[0].lower() in known
        return "" if given else f"it reads {'.'.join(parts)}, and not rows"
    if name in CALLS:
        return CALLS[name](node)
    if "UnresolvedIdentifier" in name:
        return "IDENTIFIER makes a name of an expression, which may give any"
    if not sql.query and is_kind(node, "expressions.PlanExpression", of):
        return "the field takes an expression over a record's columns, not a query"
    return _wrong_kind(node, of)


def _wrong_kind(node: Node, of: str) -> str:
    if any(is_kind(node, f"plans.logical.{kind}", of) for kind in ("Command", "ParsedStatement")):
        return "it is a command, and not a query"
    name = class_name(node, of)
    if name == "ScriptTransformation":
        return "it runs a command of the operating system"
    if is_kind(node, "plans.logical.LeafNode", of) and name not in LEAVES:
        return f"it has a {name}, which may read something else than rows"
    return ""


def _call(parts: list[str], allowed: frozenset[str], arguments: int) -> str:
    name, last = ".".join(parts), parts[-1].lower()
    if last in REFUSED:
        return f"{name} {REFUSED[last]}"
    if len(parts) > 1 or last not in allowed:
        return f"{name} is not a function of Spark's that a spec may call"
    if arguments > MOST_ARGUMENTS.get(last, arguments):
        return f"{name} with options may read files, and no account covers them"
    return ""


CALLS: dict[str, Callable[[Node], str]] = {
    "UnresolvedFunction": lambda node: _call(
        sequence(node.nameParts()), ALLOWED, node.arguments().size()
    ),
    "UnresolvedGenerator": lambda node: _call([node.name().funcName()], ALLOWED, 0),
    "UnresolvedTableValuedFunction": lambda node: _call(sequence(node.name()), ALLOWED_TABLES, 0),
}
"""The kinds of nodes that call a function by its name -> what is wrong with the call."""


def _nodes(node: Node, known: Names) -> Iterator[tuple[Node, str, Names]]:
    """The node and all below it, plans within expressions and expressions within plans too; each
    with the full name of its class, and the names of the relations that it may read.
    """
    of = full_name(node)
    yield node, of, known
    if class_name(node, of) == "UnresolvedWith":
        # A query of a WITH may read those before it; itself only where it may recur.
        for relation in sequence(node.cteRelations()):
            name = frozenset([relation._1().lower()])  # noqa: SLF001 - a tuple of Scala's
            within = known | name if node.allowRecursion() else known
            yield from _nodes(relation._2(), within)  # noqa: SLF001 - as above
            known |= name
        yield from _nodes(node.child(), known)
        return
    for child in below(node, of):
        yield from _nodes(child, known)
