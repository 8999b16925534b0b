"""The ways in which a case's records are cut into batches and runs."""

from hypothesis import strategies as st

from tests.spark.properties.case import Drain

Batching = tuple[Drain, ...]
KILLED = ("uncommitted", "unaccounted")
CRASHES = st.sampled_from(("none", *KILLED))


def one_batch(records: int) -> st.SearchStrategy[Batching]:
    """All of them in one."""
    return st.just((Drain(records),))


@st.composite
def three_batches_and_a_crash(draw: st.DrawFn, records: int) -> Batching:
    """About three, in one run or in two, and a crash before the run that follows."""
    most = _parts(records, 3)
    crash = draw(st.sampled_from(KILLED))
    if draw(st.booleans()):
        return (Drain(records, most, crash),)
    return (Drain(draw(st.integers(records // 3, records)), most, crash), Drain(records, most))


@st.composite
def two_runs(draw: st.DrawFn, records: int) -> Batching:
    """A run for each half, and perhaps a crash between them."""
    return (Drain(_parts(records, 2), None, draw(CRASHES)), Drain(records))


@st.composite
def _many(draw: st.DrawFn, records: int, batches: int) -> Batching:
    most = _parts(records, batches)
    form = draw(
        st.sampled_from(
            ("mixed", "one run", "mixed", "one run", "restarts")
            if batches <= 5
            else ("mixed", "one run")
        )
    )
    if form == "one run":
        return (Drain(records, most),)
    if form == "restarts":
        ends = sorted({min(records, most * n) for n in range(1, batches + 1)})
        return tuple(Drain(end, None, draw(CRASHES)) for end in ends)
    cut = draw(st.integers(1, records))
    return (Drain(cut, most, draw(CRASHES)), Drain(records, most, draw(CRASHES)))


def five(records: int) -> st.SearchStrategy[Batching]:
    """About five batches: in one run, in a run each, or in runs of several."""
    return _many(records, 5)


def fifty(records: int) -> st.SearchStrategy[Batching]:
    """About fifty batches, in one run or in two."""
    return _many(records, 50)


def _parts(records: int, parts: int) -> int:
    return -(-records // parts)
