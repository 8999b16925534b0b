"""Where a run ends between two transactions of the source: by a source in plain Python, whose
connector begins again anywhere, and whose partitions come with delays.
"""

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.runs.transactions import look as looking
from spark_jobs.runs.transactions.cut import Change
from spark_jobs.runs.transactions.look import Begin, look
from spark_jobs.runs.transactions.marks import Mark
from spark_jobs.runs.transactions.view import Told
from spark_jobs.spec.topic import PARTITIONS
from tests.unit import specs

NAMES = ("eu.public.orders", "eu.public.lines")
TOPICS = tuple(
    specs.topic(name=name, envelope="debezium", transactions="eu.transaction") for name in NAMES
)
PLACES = (0, 1, PARTITIONS)
"""Two partitions of one topic, one of another."""


class Sent(NamedTuple):
    """What a connector sends: to a partition, or to the transaction topic (None)."""

    to: int | None
    id: str | None
    order: int = 0
    counts: dict[str, int] | None = None


def sent(transactions: list[list[int]]) -> list[Sent]:
    """Each is the partitions of its changes; an empty one a record of no transaction."""
    found = list[Sent]()
    for number, places in enumerate(transactions):
        if not places:
            found.append(Sent(number % 2, None))
            continue
        id_, orders = f"t{number}", defaultdict[int, int](int)
        found.append(Sent(None, id_))
        for place in places:
            orders[place // PARTITIONS] += 1
            found.append(Sent(place, id_, orders[place // PARTITIONS]))
        counts = {NAMES[topic].removeprefix("eu."): count for topic, count in orders.items()}
        found.append(Sent(None, id_, counts=counts))
    return found


class Broker:
    """The logs, of which a beginning is visible. Whole, as a View."""

    def __init__(self, stream: list[Sent]) -> None:
        self.told_ = [each for each in stream if each.to is None]
        self.logs = {p: [each for each in stream if each.to == p] for p in PLACES}
        self.seen = dict.fromkeys((*PLACES, -1), 0)

    def show(self, more: dict[int, int]) -> None:
        for p, count in more.items():
            whole = len(self.told_ if p == -1 else self.logs[p])
            self.seen[p] = min(self.seen[p] + count, whole)

    def show_all(self) -> None:
        self.show(dict.fromkeys(self.seen, 10**6))

    @property
    def latest(self) -> dict[int, int]:
        return {p: self.seen[p] for p in PLACES}

    def told(self) -> Told:
        return Told("T", 0, self.seen[-1])

    def marks(self, first: int, end: int) -> list[Mark]:
        within = enumerate(self.told_[first:end], first)
        return [Mark(each.id, at, 0, each.counts) for at, each in within]

    def changes(self, ranges: dict[int, tuple[int, int]]) -> dict[int, list[Change]]:
        return {
            p: [
                Change(at, each.id, each.order, 0)
                for at, each in enumerate(self.logs[p][first:end], first)
                if each.id
            ]
            for p, (first, end) in ranges.items()
        }

    def torn(self, cuts: dict[int, int]) -> set[str]:
        """Transactions with a change before the cuts, and not all that it has."""
        every, before = defaultdict(set), defaultdict(set)
        for p, log in self.logs.items():
            for at, each in enumerate(log):
                every[each.id].add((p, each.order))
                if at < cuts[p]:
                    before[each.id].add((p, each.order))
        return {id_ for id_, found in before.items() if id_ and found != every[id_]}


class Runs:
    """Runs, one behind the other, each from where the one before ended."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self.done = dict.fromkeys(PLACES, 0)
        self.behind: int | None = None
        self.late = frozenset[int]()

    def run(self) -> None:
        begin = Begin(self.done, self.late, self.behind)
        found = look(self.broker, self.broker.told(), TOPICS, begin, self.broker.latest)
        assert all(at >= self.done[p] for p, at in found.found.cuts.items())
        self.done, self.behind, self.late = found.found.cuts, found.behind, found.late


@st.composite
def streams(draw) -> list[Sent]:
    """With a connector that begins again: from before, anywhere."""
    change = st.sampled_from(PLACES)
    whole = sent(draw(st.lists(st.lists(change, max_size=5), max_size=8)))
    found = list[Sent]()
    at = 0
    for back in draw(st.lists(st.integers(0, 9), max_size=3)):
        stop = draw(st.integers(at, len(whole)))
        found += whole[at:stop]
        at = max(0, stop - back)
    return found + whole[at:]


shown = st.dictionaries(st.sampled_from((*PLACES, -1)), st.integers(0, 9))


@settings(max_examples=600)
@given(streams(), st.lists(shown, max_size=5))
def test_every_run_has_whole_transactions_and_at_last_all_of_them(stream, delays):
    broker = Broker(stream)
    runs = Runs(broker)
    for more in delays:
        broker.show(more)
        runs.run()
        assert broker.torn(runs.done) == set()
    broker.show_all()
    runs.run()
    runs.run()
    assert runs.done == broker.latest


@given(st.lists(st.lists(st.sampled_from(PLACES), max_size=5), max_size=6), shown)
def test_a_run_ends_behind_the_newest_end_that_it_can(transactions, more):
    stream = sent(transactions)
    broker = Broker(stream)
    broker.show(more)
    runs = Runs(broker)
    runs.run()
    newest = 0
    for number in range(len([places for places in transactions if places]) + 1):
        ends = [at for at, each in enumerate(stream) if each.counts is not None]
        until = ends[number - 1] + 1 if number else 0
        has = {p: sum(each.to == p for each in stream[:until] if each.id) for p in PLACES}
        visible = {
            p: sum(bool(each.id) for each in broker.logs[p][: broker.seen[p]]) for p in PLACES
        }
        told = sum(each.to is None for each in stream[:until])
        if told <= broker.seen[-1] and all(has[p] <= visible[p] for p in PLACES):
            newest = max(newest, told)
    assert runs.behind == newest


@given(streams(), shown, st.dictionaries(st.sampled_from(PLACES), st.integers(0, 6)))
def test_what_retention_took_holds_nothing_for_ever(stream, more, removed):
    broker = Broker(stream)
    broker.show_all()
    runs = Runs(broker)
    runs.done = {p: min(removed.get(p, 0), broker.latest[p]) for p in PLACES}
    runs.late = frozenset(p for p, at in runs.done.items() if at)
    # A later change in each partition says that nothing of before comes any more.
    for p in PLACES:
        broker.logs[p].append(Sent(p, "last", 1))
    counts = {"public.orders": 2, "public.lines": 1}
    for log in (broker.logs[0], broker.logs[1]):
        log[-1] = log[-1]._replace(order=1 if log is broker.logs[0] else 2)
    broker.told_ += [Sent(None, "last"), Sent(None, "last", counts=counts)]
    broker.show_all()
    runs.run()
    assert runs.done == broker.latest


def test_a_transaction_larger_than_the_window_is_not_cut(monkeypatch):
    monkeypatch.setattr(looking, "LOOKED_AT", 6)
    stream = sent([[0], [0, 1, 0, 0, 0, 0, 0, 0, 0, 0]])
    broker = Broker(stream)
    broker.show_all()
    broker.seen[-1] -= 1
    runs = Runs(broker)
    runs.run()
    assert runs.done == {0: 1, 1: 0, PARTITIONS: 0}
    broker.show_all()
    runs.run()
    assert runs.done == broker.latest


@given(streams(), st.lists(shown, max_size=5))
def test_what_comes_again_and_is_not_found_tears_nothing(stream, delays):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(looking, "LOOKED_BACK", 0)
        broker = Broker(stream)
        runs = Runs(broker)
        for more in delays:
            broker.show(more)
            runs.run()
            assert broker.torn(runs.done) == set()


def lost_front() -> tuple[Broker, Runs]:
    """Retention took the first change of t0 in partition 0; nothing comes behind it in 1."""
    broker = Broker(sent([[0, 1, 0], [1, 0]]))
    runs = Runs(broker)
    runs.done, runs.late = {0: 1, 1: 0, PARTITIONS: 0}, frozenset({0})
    return broker, runs


def test_a_transaction_whose_first_changes_are_gone_is_read_with_its_end_however_late_that_comes():
    broker, runs = lost_front()
    broker.show({0: 2, 1: 1, -1: 1})
    runs.run()
    assert runs.done == {0: 1, 1: 0, PARTITIONS: 0}
    broker.show({-1: 1})
    runs.run()
    assert runs.done == {0: 2, 1: 1, PARTITIONS: 0}


def test_behind_it_every_change_is_waited_for_again():
    broker, runs = lost_front()
    broker.show({0: 2, 1: 1, -1: 2})
    runs.run()
    broker.show({0: 1, -1: 2})
    runs.run()
    assert runs.done == {0: 2, 1: 1, PARTITIONS: 0}
    broker.show_all()
    runs.run()
    assert runs.done == broker.latest
