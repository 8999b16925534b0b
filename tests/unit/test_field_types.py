"""A type of a record's field is whole: a new one that lacks a conversion is named here."""

import pytest

from spark_jobs.decode.json.leaf import annotation_of
from spark_jobs.spec import Field, Topic
from spark_jobs.values.conversions import arrow_type, spark_type
from spark_jobs.values.field_types import FIELD_TYPES
from spark_jobs.values.type_tree import parsed
from tests.unit.decoding import Decoding


@pytest.mark.parametrize("kind", FIELD_TYPES)
def test_a_type_is_known_to_spark_to_arrow_and_to_the_decoder(kind):
    assert spark_type(kind).simpleString() == kind, "Spark's type has the name that a spec uses"
    assert arrow_type(kind) is not None
    assert annotation_of(parsed(kind)) is not None
    record = Topic(
        name="t",
        event_time="at",
        fields=(Field(name="at", type="timestamp"), Field(name="it", type=kind)),
    )
    assert Decoding(record).row(b"{}")[1]


@pytest.mark.parametrize("kind", FIELD_TYPES)
def test_arrows_type_is_the_one_that_spark_exchanges(kind):
    from pyspark.sql.pandas.types import to_arrow_type  # noqa: PLC0415 - loads pandas

    assert to_arrow_type(spark_type(kind), timezone="UTC") == arrow_type(kind)
