"""What others' clients are told: Kafka's properties, options of Spark's reader, options of Spark."""

from __future__ import annotations

from local.reference.markdown import by_reason, code, table
from spark_jobs.settings.kafka import names
from spark_jobs.settings.kafka.names import Property
from spark_jobs.spec import reader_options, spark_options


def kafka() -> str:
    """The properties of the declaration."""
    fixed = ((code(name), code(value), f"{why}.") for name, (value, why) in names.FIXED.items())
    return f"""\
## Kafka properties
Of the declaration ([deploy.md](deploy.md#kafka)), by librdkafka's names.

{table(("property", "other names", "in a PEM file", "meaning"), map(_property, names.TABLE))}
Only one value is allowed:

{table(("property", "value", "why"), fixed)}
Refused:

{by_reason(names.REFUSED)}"""


def _property(row: Property) -> tuple[str, ...]:
    return (
        code(row.name),
        ", ".join(map(code, row.also)),
        ", ".join(map(code, row.file)),
        row.about + (" (secret)" if row.secret else ""),
    )


def reader() -> str:
    """The options of Spark's Kafka reader."""
    rows = ((code(name), about) for name, about in reader_options.ALLOWED.items())
    declared = {
        f"{start}...": "they belong into the declaration" for start in reader_options.DECLARED
    }
    return f"""\
## Reader options
A spec may set these in `reader_options`, at any time. Each is a whole number from 1 to {reader_options.LARGEST}. The default is last.

{table(("option", "what for"), rows)}
Refused:

{by_reason(reader_options.REFUSED | declared)}"""


def spark() -> str:
    """The options of Spark that Sluice sets itself."""
    starts = {f"{start}*": why for start, why in spark_options.OWNED_PREFIXES.items()}
    return f"""\
## Spark options
Refused in a spec, in `SLUICE_SPARK_CONF` and in Airflow's connection, since Sluice sets them. It passes on all others
([deploy.md](deploy.md#options-of-spark)).

{by_reason(spark_options.OWNED | starts)}"""
