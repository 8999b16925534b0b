"""Where a run ends between two transactions of the source: by a source in plain Python, whose
connector begins again anywhere, and whose partitions come with delays.
"""

from collections import defaultdict
from typing import NamedTuple

import pytest
from hypothesis import given, settings, strategies as st

from spark_jobs.transactions import look as looking
from spark_jobs.transactions.cut import Change
from spark_jobs.transactions.look import Begin, look
from spark_jobs.transactions.view import Mark, Told
from spark_jobs.values.numbering import PARTITIONS
from tests.harness.long_form import examples
from tests.unit import specs

TOLD_IN = "eu.transaction"
NAMES = ("eu.public.orders", "eu.public.lines")
TOPICS = tuple(specs.topic(name=name, envelope="debezium") for name in NAMES)
PLACES = (0, 1, PARTITIONS)
"""Two partitions of one topic, one of another."""


class Sent(NamedTuple):
    """What a connector sends: to a partition, or to the transaction topic (None)."""

    to: int | None
    id: str | None
    order: int = 0
    counts: dict[str, int] | None = None
    millis: int = 0


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
        return [Mark(each.id, at, each.millis, each.counts) for at, each in within]

    def changes(self, ranges: dict[int, tuple[int, int]]) -> dict[int, list[Change]]:
        return {
            p: [
                Change(at, each.id or "", each.order, each.millis)
                for at, each in enumerate(self.logs[p][first:end], first)
                if each.id or at == first
            ]
            for p, (first, end) in ranges.items()
        }

    def torn(self, cuts: dict[int, int], kept: dict[int, int] | None = None) -> set[str]:
        """Transactions with a change before the cuts, and not all that it has; of what retention
        has kept.
        """
        every, before = defaultdict(set), defaultdict(set)
        for p, log in self.logs.items():
            for at, each in enumerate(log):
                if kept and at < kept[p]:
                    continue
                every[each.id].add((p // PARTITIONS, each.order))
                if at < cuts[p]:
                    before[each.id].add((p // PARTITIONS, each.order))
        return {id_ for id_, found in before.items() if id_ and found != every[id_]}


class Runs:
    """Runs, one behind the other, each from where the one before ended."""

    def __init__(self, broker: Broker, kept: dict[int, int] | None = None) -> None:
        """`kept`: the first offsets that retention has left."""
        self.broker = broker
        self.kept = kept or dict.fromkeys(PLACES, 0)
        self.done = self.kept
        self.behind: int | None = None
        self.whole = True

    def run(self) -> None:
        back = self.kept if self.behind is None else self.done
        begin = Begin(self.done, back, self.behind)
        latest = {p: max(at, self.done[p]) for p, at in self.broker.latest.items()}
        found = look(self.broker, self.broker.told(), TOPICS, TOLD_IN, begin, latest)
        assert all(at >= self.done[p] for p, at in found.found.cuts.items())
        self.done, self.whole = found.found.cuts, found.whole
        self.behind = found.behind if found.whole else None


@st.composite
def streams(draw) -> list[Sent]:
    """With a connector that begins again: from before, anywhere. What comes again of a table
    without a key is in any partition.
    """
    change = st.sampled_from(PLACES)
    whole = sent(draw(st.lists(st.lists(change, max_size=5), max_size=8)))
    found = list[Sent]()
    at = 0
    for back in draw(st.lists(st.integers(0, 9), max_size=3)):
        stop = draw(st.integers(at, len(whole)))
        found += whole[at:stop]
        at = max(0, stop - back)
    found += whole[at:]
    moves, came = draw(st.booleans()), set[tuple[str | None, int]]()
    for n, each in enumerate(found):
        if moves and (each.id, each.order) in came and each.to in (0, 1):
            found[n] = each._replace(to=draw(st.sampled_from((0, 1))))
        came |= {(each.id, each.order)} if each.to in (0, 1) else set()
    return found


shown = st.dictionaries(st.sampled_from((*PLACES, -1)), st.integers(0, 9))


def nothing_torn(broker, runs, delays):
    for more in delays:
        broker.show(more)
        runs.run()
        assert broker.torn(runs.done) == set()


@settings(max_examples=examples(600))
@given(streams(), st.lists(shown, max_size=5))
def test_every_run_has_whole_transactions_and_at_last_all_of_them(stream, delays):
    broker = Broker(stream)
    runs = Runs(broker)
    nothing_torn(broker, runs, delays)
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
    runs = Runs(broker, {p: min(removed.get(p, 0), broker.latest[p]) for p in PLACES})
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
        nothing_torn(broker, runs, delays)


def lost_front() -> tuple[Broker, Runs]:
    """Retention took the first change of t0 in partition 0; nothing comes behind it in 1."""
    broker = Broker(sent([[0, 1, 0], [1, 0]]))
    return broker, Runs(broker, {0: 1, 1: 0, PARTITIONS: 0})


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


@settings(max_examples=examples(200))
@given(streams(), shown, st.lists(shown, max_size=4))
def test_offsets_that_nobody_knows_are_whole_only_where_they_are(stream, read, delays):
    broker = Broker(stream)
    broker.show(read)
    runs = Runs(broker)
    runs.done = broker.latest  # without publish_at, amid anything
    for more in ({}, *delays):
        runs.run()
        assert not runs.whole or broker.torn(runs.done) == set()
        broker.show(more)
    broker.show_all()
    runs.run()
    runs.run()
    assert runs.whole
    assert runs.done == broker.latest


@settings(max_examples=examples(200))
@given(
    st.lists(st.lists(st.sampled_from(PLACES), min_size=1, max_size=4), min_size=1, max_size=8),
    st.dictionaries(st.sampled_from(PLACES), st.integers(0, 4)),
    st.lists(shown, max_size=5),
)
def test_a_partition_that_retention_has_shortened_excuses_no_other(transactions, removed, delays):
    stream = sent(transactions)
    broker = Broker(stream)
    runs = Runs(broker, {p: min(of, len(broker.logs[p])) for p, of in removed.items()})
    runs.kept = runs.done = {p: runs.done.get(p, 0) for p in PLACES}
    broker.show(runs.kept)
    for more in delays:
        broker.show(more)
        runs.run()
        assert broker.torn(runs.done, runs.kept) == set()


HOUR = 3_600_001


def at(millis: int, stream: list[Sent]) -> list[Sent]:
    return [each._replace(millis=millis) for each in stream]


def never_ending() -> list[Sent]:
    """A connector that is made anew amid x."""
    return [Sent(None, "x"), Sent(0, "x", 1)]


def never_told() -> list[Sent]:
    """A topic with a history, added behind it: marks of its transactions are gone."""
    return [Sent(PARTITIONS, "x", 1), Sent(PARTITIONS, "y", 1)]


def filtered() -> list[Sent]:
    """A transform has taken a change; partition 1 stays empty."""
    return [Sent(None, "x"), Sent(None, "x", counts={"public.orders": 1})]


@pytest.mark.parametrize("before", [never_ending, never_told, filtered])
@pytest.mark.parametrize("behind", [None, 0])
def test_what_never_comes_is_waited_for_an_hour_of_transactions(before, behind):
    for later, goes_on in ((1, False), (HOUR, True)):
        broker = Broker(at(1, before()) + at(1 + later, sent([[0, PARTITIONS]])))
        broker.show_all()
        runs = Runs(broker)
        runs.behind = behind
        runs.run()
        assert (runs.done == broker.latest) == goes_on or (behind is None and before is never_told)


@pytest.mark.parametrize("counts", [(0, 2), (2, 0), (1, 2), (2, 1)])
def test_an_end_that_comes_again_with_less_counts_as_the_one_with_most(counts):
    ends = [Sent(None, "x", counts={"public.orders": of} if of else {}) for of in counts]
    broker = Broker([Sent(None, "x"), Sent(0, "x", 1), Sent(0, "x", 2), *ends])
    broker.show({0: 1, -1: 3})
    for done in (0, 2):
        runs = Runs(broker)
        runs.run()
        assert runs.done == {0: done, 1: 0, PARTITIONS: 0}
        broker.show_all()


def two_restarts() -> Broker:
    one, two = {"public.lines": 1}, {"public.lines": 2}
    begin_a, a = Sent(None, "a"), Sent(PARTITIONS, "a", 1)
    b = [Sent(None, "b"), Sent(PARTITIONS, "b", 1), Sent(PARTITIONS, "b", 2)]
    end_a, end_b = Sent(None, "a", counts=one), Sent(None, "b", counts=two)
    return Broker([begin_a, a, begin_a, a, end_a, *b, end_b, begin_a, a, end_a])


def test_what_comes_again_twice_is_no_later_transaction():
    broker = two_restarts()
    runs = Runs(broker)
    broker.show({PARTITIONS: 1, -1: 3})
    runs.run()
    assert runs.done[PARTITIONS] == 1
    broker.show({PARTITIONS: 2, -1: 9})
    runs.run()
    assert broker.torn(runs.done) == set()


def test_an_hour_of_which_a_connector_repeats_old_ends_alone_is_no_hour():
    """It stood still amid x, and begins again before x."""
    x = [Sent(None, "x"), Sent(0, "x", 1), Sent(0, "x", 2)]
    end = Sent(None, "x", counts={"public.orders": 2})
    before = at(1, [*sent([[0]]), *x[:2]])
    broker = Broker(before + at(1 + HOUR, [*sent([[0]]), *x, end]))
    runs = Runs(broker)
    for more in ({0: 1, -1: 2}, {0: 1, -1: 1}, {-1: 2}, {0: 1}):
        broker.show(more)
        runs.run()
        assert runs.done == {0: 1, 1: 0, PARTITIONS: 0}
    broker.show_all()
    runs.run()
    assert runs.done == broker.latest


class Asked(Broker):
    """Tells how many offsets are asked for."""

    asked = 0

    def marks(self, first: int, end: int) -> list[Mark]:
        self.asked += end - first
        return super().marks(first, end)

    def changes(self, ranges: dict[int, tuple[int, int]]) -> dict[int, list[Change]]:
        self.asked += sum(end - first for first, end in ranges.values())
        return super().changes(ranges)


@pytest.mark.parametrize("marks", [0, 1])
def test_a_look_has_an_end_without_transactions_and_with_one_open(marks, monkeypatch):
    monkeypatch.setattr(looking, "LOOKED_AT", 30)
    monkeypatch.setattr(looking, "LOOKED_AT_MOST", 200)
    stream = sent([[]] * 4000 + [[0, PARTITIONS]] * 3 if marks else [[0, PARTITIONS]] * 4000)
    broker = Asked(stream)
    broker.show_all()
    broker.seen[-1] = 5 * marks
    runs = Runs(broker)
    runs.run()
    assert runs.done == dict.fromkeys(PLACES, 0)
    assert broker.asked < 500


def test_of_a_busy_transaction_topic_the_newest_marks_are_read(monkeypatch):
    monkeypatch.setattr(looking, "LOOKED_AT_MOST", 100)
    monkeypatch.setattr(looking, "LOOKED_BACK", 50)
    broker = Asked(sent([[0], *[[PARTITIONS]] * 1000, [0]]))
    broker.show_all()
    begin = Begin({0: 1}, {0: 1}, 2)
    found = look(broker, broker.told(), TOPICS[:1], TOLD_IN, begin, {0: 2})
    assert found.whole
    assert found.found.cuts == {0: 2}
    assert broker.asked < 300


@settings(max_examples=examples(200))
@given(
    st.lists(st.lists(st.sampled_from(PLACES), max_size=4), max_size=8),
    st.integers(0, 30),
    st.integers(0, 9),
    st.lists(shown, max_size=6),
)
def test_a_connector_that_is_down_for_hours_amid_a_transaction_tears_nothing(
    transactions, stop, back, delays
):
    whole = sent(transactions)
    before = at(1, whole[:stop])
    broker = Broker(before + at(1 + HOUR, whole[max(0, min(stop, len(whole)) - back) :]))
    broker.show({p: sum(each.to == p for each in before) for p in PLACES})
    broker.show({-1: sum(each.to is None for each in before)})
    runs = Runs(broker)
    for more in ({}, *delays):
        broker.show(more)
        runs.run()
        assert broker.torn(runs.done) == set()
    broker.show_all()
    runs.run()
    assert runs.done == broker.latest
