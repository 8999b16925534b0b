"""Topics that a pipeline reads as they come: which, in which order, and what each gets."""

import pytest
from upath import UPath

from spark_jobs.checkpoint import added_topics
from spark_jobs.checkpoint.identity import Identity
from spark_jobs.checkpoint.notes.live import with_known_topics
from spark_jobs.checkpoint.notes.live_spec import live_spec
from spark_jobs.errors import SpecInvalid
from spark_jobs.registry.fingerprint.fields import Declared, changes, fingerprint
from spark_jobs.settings.installation import Settings
from spark_jobs.source import topic_state
from spark_jobs.spec import Archive, Latest, MoreTopics
from spark_jobs.spec.inputs import COLUMN
from spark_jobs.storage.root.paths import Paths
from tests.harness.refused import fails
from tests.unit.specs import FIELDS, topic
from tests.unit.test_several_topics import EU, US, both

LIKE = topic(name="orders", max_ahead="3 hours", archive=Archive(keep=None))
MORE = MoreTopics(pattern="orders_[a-z]+", like=LIKE)
SPEC = both(EU, US, more_topics=MORE)


def names(spec):
    return [each.name for each in spec.topic.inputs]


def stored(root, spec):
    path = Paths(str(root), spec).identity
    path.parent.mkdir(parents=True)
    Identity(generation="g", topic_id="t", fingerprint=fingerprint(spec, "4.2.0")).write(path)


def test_what_has_no_checkpoint_is_what_is_listed():
    assert names(SPEC) == ["eu", "us"]
    assert names(both(EU, more_topics=MORE)) == ["eu"]
    assert COLUMN in both(EU, more_topics=MORE).topic.columns


def test_a_topic_that_came_is_as_the_pattern_says_and_stands_where_it_came(tmp_path):
    given = SPEC.with_topics(["eu", "us", "orders_z", "orders_a"])
    assert names(given) == ["eu", "us", "orders_z", "orders_a"]
    came = given.topic.inputs[2]
    assert (came.max_ahead, came.archive) == (LIKE.max_ahead, None)
    stored(tmp_path, given)
    assert names(live_spec(SPEC, str(tmp_path))) == names(given)
    assert with_known_topics(given, str(tmp_path)) == given
    # One that is listed behind it has its own declaration, and its place.
    listed = both(EU, US, topic(name="orders_z", max_ahead="1 hour"), more_topics=MORE)
    again = with_known_topics(listed, str(tmp_path))
    assert names(again) == names(given)
    assert again.topic.inputs[2].max_ahead == listed.topics[2].max_ahead


def test_new_ones_come_behind_those_that_are_known_by_their_names(tmp_path, monkeypatch):
    settings = Settings(str(tmp_path), "localhost:1", tmp_path, "local[1]", "1g")
    there = ["orders_m", "us", "other", "orders_b", "orders_z", "eu", "orders_2"]
    monkeypatch.setattr(topic_state, "topic_names", lambda *_: there)
    assert names(added_topics.with_new_topics(SPEC, settings)) == ["eu", "us", "orders_b", "orders_m", "orders_z"]  # fmt: skip
    stored(tmp_path, SPEC.with_topics(["eu", "us", "orders_z"]))
    found = added_topics.with_new_topics(SPEC, settings)
    assert names(found) == ["eu", "us", "orders_z", "orders_b", "orders_m"]
    there.remove("orders_z")  # it is gone, and is missed
    assert names(added_topics.with_new_topics(SPEC, settings)) == names(found)
    assert added_topics.with_new_topics(both(), settings) == both()


def test_the_first_run_of_a_rebuild_has_the_order_of_the_live_table(tmp_path):
    stored(tmp_path, SPEC.with_topics(["eu", "us", "orders_z", "orders_a"]))
    state = SPEC.state.model_copy(update={"version": 2})
    following = SPEC.model_copy(update={"state": state})
    assert names(with_known_topics(following, str(tmp_path))) == ["eu", "us"]
    found = with_known_topics(following, str(tmp_path), SPEC)
    assert names(found) == ["eu", "us", "orders_z", "orders_a"]
    assert found.state.version == 2


def test_one_more_is_taken_and_one_that_the_spec_has_no_more_is_refused():
    before = SPEC.with_topics(["eu", "us", "orders_a"])
    more = before.with_topics(["eu", "us", "orders_a", "orders_b"])
    weights = [{each.weight for each in changes(*map(of, pair), Declared(pair[1]))}
               for pair in ((before, more), (more, before))]  # fmt: skip
    assert weights[0] == {"warned"}
    assert "refused" in weights[1]
    narrower = both(EU, US, more_topics=MORE.model_copy(update={"pattern": "orders_b"}))
    assert names(narrower.with_topics(names(more))) == ["eu", "us", "orders_b"]


def of(spec):
    return fingerprint(spec, "4.2.0")


@pytest.mark.parametrize(
    "made",
    [
        lambda: MoreTopics(pattern="orders_[", like=LIKE),
        lambda: MoreTopics(pattern=".*", like=LIKE),
        lambda: both(EU, more_topics=MoreTopics(pattern="o.*", like=topic(fields=FIELDS[:3]))),
        lambda: SPEC.model_copy().with_topics([f"orders_{'x' * n}" for n in range(1, 1002)]),
        lambda: both(EU, more_topics=MORE, steps=(Latest(keys=("id",), order_by=("amount",)),)),
    ],
    ids=["no expression", "all", "other fields", "too many", "follows a key"],
)
def test_what_cannot_be_is_refused_in_words(made):
    with fails(SpecInvalid, "fields_refused"):
        made()


def test_the_identity_is_asked_and_nothing_else(tmp_path):
    assert not UPath(Paths(str(tmp_path), SPEC).identity).exists()
    assert live_spec(SPEC, str(tmp_path)) == SPEC
