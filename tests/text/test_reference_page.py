"""docs/reference.md is what the code says, and nothing in it is without a meaning."""

import pytest
from pydantic import BaseModel

from local.reference import changes
from local.reference.models import model_table
from local.reference.page import PAGE, page
from spark_jobs.errors import SluiceError, catalogue
from spark_jobs.messages import event
from spark_jobs.messages.log import FIELDS
from spark_jobs.ops.operator_metrics import COUNTS
from spark_jobs.ops.schema import COLUMNS, OPERATOR
from spark_jobs.spec.checks.check import STATE_METRICS


def test_the_page_is_current():
    assert PAGE.read_text() == page(), "make reference"


def test_the_table_of_changes_is_current():
    assert changes.PAGE.read_text() == changes.architecture(), "make reference"


def test_a_fields_meaning_is_the_string_under_it_and_one_without_is_refused_by_its_name():
    class Said(BaseModel):
        size: int
        """of a record,
        in bytes
        """

    class Silent(Said):
        size: int

    assert model_table(Said).endswith("| of a record, in bytes |\n")
    with pytest.raises(ValueError, match=r"Silent\.size has no meaning"):
        model_table(Silent)


def test_every_column_field_and_metric_has_a_meaning():
    columns = {
        f"{table}.{column.name}": column.about
        for table, known in COLUMNS.items()
        for column in known
    }
    operators = {column.name: column.about for column in OPERATOR}
    for meanings in (columns, operators, COUNTS, STATE_METRICS, event.FIELDS, FIELDS):
        assert [name for name, about in meanings.items() if not about.strip()] == []


@pytest.mark.parametrize("error", [SluiceError, *catalogue()], ids=lambda error: str(error.code))
def test_an_error_says_what_it_means_and_what_mends_it(error):
    assert vars(error).get("usual_remedy", "").endswith(".")
    assert (error.__doc__ or "").partition("\n\n")[0].rstrip().endswith(".")
