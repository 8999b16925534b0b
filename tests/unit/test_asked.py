"""The places that a person types for `sluice where`."""

import pytest

from spark_jobs.since.cause import asked_by
from spark_jobs.source.place import Place
from spark_jobs.source.positions import parts_of
from spark_jobs.spec import Latest
from spark_jobs.values.own_columns import AT_ELEMENT, OFFSET, PARTITION
from spark_jobs.where.ask import MOST, places
from tests.unit.specs import EU, TWO_APART, pipeline, topic

ONE = pipeline().inputs
TWO = pipeline(**TWO_APART).inputs


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        (["3:120"], [(3, 120)]),
        (["3:7-9"], [(3, 7), (3, 8), (3, 9)]),
        (["3:9,0:4, 3:9", "0:3-4"], [(0, 3), (0, 4), (3, 9)]),
    ],
    ids=["one", "a range", "a list, each once and in order"],
)
def test_places_are_typed_as_they_are_shown(texts, found):
    assert places(ONE, texts) == [Place(*each) for each in found]


def test_of_several_topics_a_place_has_its_topics_name():
    found = [Place(3, 5), Place(65539, 5)]
    assert places(TWO, [f"{EU.name}/3:5", "us/3:5"]) == found


def test_a_record_of_a_value_with_many_has_its_number_behind():
    of_many = pipeline(topic=topic(each="[]")).inputs
    assert places(of_many, ["3:7:2", "3:8"]) == [Place(3, 7, 2), Place(3, 8)]
    assert Place(3, 7, 2).text() == "3:7:2"


def test_a_row_of_a_key_says_its_record_and_one_that_a_person_wrote_says_none():
    spec = pipeline(steps=(Latest(keys=("id",), order_by=("at",)),))
    row = {PARTITION: 3, OFFSET: 7, AT_ELEMENT: 2}
    assert asked_by(spec, row) == f"sluice where {spec.name} 3:7:2"
    assert asked_by(spec, dict.fromkeys(row)) == ""


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        (ONE, "7"),
        (ONE, "x:7"),
        (ONE, "0:9-7"),
        (ONE, ""),
        (ONE, "0:-7"),
        (ONE, "0:7:1"),
        (TWO, "0:7"),
        (ONE, f"0:0-{MOST}"),
    ],
)
def test_what_is_no_place_is_refused(inputs, text):
    with pytest.raises(ValueError, match=r"."):
        places(inputs, [text])


def test_the_most_that_may_be_asked_for_is_asked_for():
    assert parts_of(places(ONE, [f"0:0-{MOST - 1}"])) == {0: ((0, MOST),)}
