"""Fields that would read one value twice, by pairs of paths that are drawn."""

import re
from itertools import combinations

import pytest
from hypothesis import given, strategies as st

from spark_jobs.errors import SpecInvalid
from spark_jobs.spec import Field
from tests.unit.specs import topic

STEPS = st.tuples(st.sampled_from("ab"), *[st.sampled_from(["", ".a", ".b", "[0]", "[k=a]"])] * 2)
PARTS = st.lists(st.tuples(STEPS.map("".join), st.sampled_from(["string", "bigint"])), max_size=5)


@given(PARTS)
def test_no_field_is_within_another_and_one_value_may_have_two_types(found):
    def clash(one, other):
        (left, _), (right, _) = one, other
        steps = [re.findall(r"\w+|\[\w(?:=\w)?\]", path) for path in (left, right)]
        for a, b in zip(*steps, strict=False):
            if a != b:
                return ("[" in a) != ("[" in b)
        return left != right

    fields = [
        Field(name=f"f{number}", type=kind, path=path) for number, (path, kind) in enumerate(found)
    ]
    if any(clash(*pair) for pair in combinations(found, 2)):
        with pytest.raises(SpecInvalid):
            topic(fields=(*topic().fields, *fields))
    else:
        topic(fields=(*topic().fields, *fields))
