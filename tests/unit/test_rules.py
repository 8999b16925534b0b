"""Rules as declarations: what is refused, and what changes with one."""

import pytest

from spark_jobs.errors import SpecInvalid
from spark_jobs.registry.fingerprint.fields import fingerprint
from spark_jobs.registry.fingerprint.topic import classification, with_classification
from spark_jobs.repair.find.plan import digest
from spark_jobs.spec import Rule, rule_share
from tests.harness.refused import fails, has
from tests.unit.specs import EU, pipeline, topic

POSITIVE = Rule(name="positive", sql="amount > 0", on_failure="quarantine")
STRICTER = POSITIVE.model_copy(update={"sql": "amount > 10"})


def ruled(*rules: Rule):
    return pipeline(topic=topic(rules=rules))


@pytest.mark.parametrize(
    ("changed", "field", "problem"),
    [
        ({"sql": ""}, "sql", "at least 1"),
        ({"sql": "rand() > 0"}, "sql", "another value each time"),
        ({"sql": "a; b"}, "sql", "more than one statement"),
        ({"name": "Too High"}, "name", "lower-case letters"),
        ({"on_failure": "ignore"}, "on_failure", "'warn', 'drop', 'quarantine' or 'refuse'"),
        ({"null": "drops"}, "null", "'passes' or 'fails'"),
    ],
)
def test_a_rule_is_refused_by_its_field_its_value_and_what_is_right(changed, field, problem):
    usual = {"name": "positive", "sql": "amount > 0", "on_failure": "warn"}
    with fails(SpecInvalid, "fields_refused", fields=field, problems=has(problem)):
        Rule(**usual | changed)


def test_a_rule_says_what_becomes_of_a_record_and_null_passes():
    with fails(SpecInvalid, "fields_refused", fields="on_failure"):
        Rule(name="positive", sql="amount > 0")
    assert POSITIVE.null == "passes"


def test_two_rules_of_a_topic_have_two_names():
    with fails(SpecInvalid, "fields_refused", fields="rules", problems=has("['positive']")):
        topic(rules=(POSITIVE, STRICTER))


def test_state_depends_on_no_rule_and_an_account_and_a_plan_do():
    one, other = ruled(POSITIVE), ruled(STRICTER)
    assert fingerprint(one, "4.2.0") == fingerprint(other, "4.2.0") == fingerprint(ruled(), "4.2.0")
    assert len({digest(each) for each in (one, other, ruled())}) == 3
    stored = classification(one)
    again = type(stored).model_validate_json(stored.model_dump_json())
    assert with_classification(other, again, other_code=False) == one
    assert with_classification(other, classification(ruled()), other_code=False) == ruled()


def test_rules_of_several_topics_are_each_topics_own():
    both = (EU.model_copy(update={"rules": (POSITIVE,)}), topic(name="us", rules=(STRICTER,)))
    spec = pipeline(topic=None, topics=both)
    assert spec.inputs.rules == ({"eu/positive": POSITIVE}, {"us/positive": STRICTER})
    stored = classification(spec)
    assert with_classification(spec, stored, other_code=False) == spec
    checked = pipeline(topic=None, topics=both, state_checks=(rule_share("positive", 0.01),))
    assert checked.state_checks[0].kwargs == {"column": "rule_share_positive", "max_value": 0.01}


def test_a_share_is_of_a_rule_that_is_there_and_at_most_1():
    with fails(SpecInvalid, "fields_refused", fields=has("state_checks")):
        pipeline(topic=topic(rules=(POSITIVE,)), state_checks=(rule_share("positve", 0.01),))
    with fails(SpecInvalid, "fields_refused", fields="most"):
        rule_share("positive", 2)
