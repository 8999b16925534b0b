"""A source of one's own, by the base that keeps all records: what it has not is refused by name."""

from spark_jobs.errors import QuestionRefused
from spark_jobs.source.port import Lasting
from tests.harness.refused import fails


class Sensors(Lasting):
    pass


def test_a_source_that_gives_no_single_records_says_so_where_one_is_asked_for():
    with fails(QuestionRefused, "no_sample", source="Sensors"):
        Sensors().sampled({0: ((3, 4),)})
