"""The store slow, busy or cut off in a commit: the run goes on or says why; the next is exact."""

from collections.abc import Callable, Iterator

import pytest

from spark_jobs.errors import RootUnreachable
from spark_jobs.storage import failpoint
from spark_jobs.storage.root import store as declared
from tests.harness.long_form import long_form
from tests.harness.refused import because, has
from tests.harness.scene import Scene
from tests.harness.store_proxy import Harm, Proxy, between
from tests.harness.turns import alike
from tests.store.root import Root
from tests.store.test_commits import through

pytestmark = alike("a root on a store")

SHORT_SECONDS = 5
"""Patience of the tests' runs with a store that does not answer."""


class Faulty:
    """A scene whose every client reaches the store through a proxy."""

    def __init__(self, scene: Scene, proxy: Proxy) -> None:
        self.scene = scene
        self.proxy = proxy

    def harm(self, harm: Harm | None) -> None:
        self.proxy.do(harm)

    def mends(self) -> None:
        """Without harm, the next drain ends well, and everything is exact."""
        self.harm(None)
        self.scene.run("next")
        self.scene.assert_exact()


@pytest.fixture
def faulty(kafka, server, spark, tmp_path, monkeypatch) -> Iterator[Faulty]:
    """A bucket of its own, its owner's: Hadoop keeps a client for each."""
    monkeypatch.setattr(declared, "PATIENCE_SECONDS", SHORT_SECONDS)
    with between(server.endpoint) as proxy, through(spark, proxy, server) as bucket:
        for name, value in (server.variables | {"AWS_ENDPOINT_URL": proxy.endpoint}).items():
            monkeypatch.setenv(name, value)
        scene = Root(server, bucket).under(
            Scene(kafka, tmp_path, "flight_events", events=600, deliveries=2, stores=1)
        )
        scene.deliver()
        yield Faulty(scene, proxy)


@pytest.mark.parametrize(
    "harms",
    [
        pytest.param((Harm("slow", ".", seconds=0.02),), id="slow", marks=long_form),
        pytest.param(
            (
                Harm("busy", ".", times=5),
                Harm("unanswered", r"PUT \S+/tables/\S+/_delta_log/0+1\.json", times=1),
            ),
            id="busy for a while, then the table's commit unanswered",
        ),
        pytest.param((Harm("unanswered", r"PUT \S+/spark/commits/0", times=1),), id="the batch's commit unanswered", marks=long_form),
        pytest.param((Harm("unanswered", r"PUT \S+/spark/offsets/0", times=1),), id="its plan unanswered", marks=long_form),
    ],
)  # fmt: skip
def test_a_store_that_answers_late_or_not_at_once_costs_time_and_nothing_else(
    faulty, harms, monkeypatch
):
    """The first harm from the start, the second, if there is one, in a batch."""
    first, *others = harms

    def next_harm():
        if others:
            assert faulty.proxy.struck, "nothing was harmed at first"
            faulty.harm(others.pop())

    faulty.harm(first)
    with monkeypatch.context() as patch:
        patch.setattr(failpoint, "at", when("planned", next_harm))
        faulty.scene.run("under it")
    assert not others
    assert faulty.proxy.struck, "nothing was harmed"
    faulty.harm(None)
    faulty.scene.assert_exact()


@pytest.mark.parametrize(
    "harms",
    [
        pytest.param((Harm("busy", r"PUT \S+/tables/"),), id="busy for good", marks=long_form),
        pytest.param(
            (
                Harm("lost", r"PUT \S+/_delta_log/"),
                Harm("unanswered", r"PUT \S+/ops/batches/_delta_log/"),
            ),
            id="the table's commit lost, in the next run the account's unanswered",
        ),
        pytest.param((Harm("lost", r"PUT \S+/spark/commits/"),), id="the checkpoint's commit lost", marks=long_form),
    ],
)  # fmt: skip
def test_a_store_that_is_gone_in_a_batch_ends_the_run_in_words_and_the_next_is_exact(
    faulty, harms, monkeypatch
):
    """One run after the other, each under one of the harms, and one under none."""
    for number, harm in enumerate(harms):
        faulty.harm(None)
        with monkeypatch.context() as patch:
            patch.setattr(failpoint, "at", when("planned", lambda harm=harm: faulty.harm(harm)))
            report = faulty.scene.drain(f"cut off {number}")
        assert faulty.proxy.struck, "nothing was harmed"
        at = has(faulty.proxy.endpoint)
        because(report.problem, RootUnreachable, "no_answer", where=at)
    faulty.mends()


def when(wanted: str, act: Callable[[], None]) -> Callable[[str], None]:
    """In the place of failpoint.at: act where it is passed."""
    return lambda place: act() if place == wanted else None
