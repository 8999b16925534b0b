"""A generated sequence: a case in several runs, with acts on ranges between them and after."""

import zlib
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from hypothesis import HealthCheck, Phase, seed, settings, strategies as st

from tests.spark.properties.case import Case, Drain, cases
from tests.spark.properties.events import Record
from tests.spark.properties.ranged_form import RangedForm
from tests.spark.properties.ways import CRASHES, Batching


class Act(NamedTuple):
    """`low` and `high` choose the range in thousandths; `begin` is swapped a run later."""

    kind: Literal["repair", "backfill", "verify", "undo", "begin"]
    low: int = 0
    high: int = 1000
    ahead: bool = False


class Ending(NamedTuple):
    """How late records are merged at last: by a repair, one backfill, or parts that `cuts` tell."""

    kind: Literal["repair", "at once", "in parts"]
    cuts: tuple[int, ...] = ()
    order: Literal["forwards", "backwards", "inside out"] = "forwards"


class Sequence(NamedTuple):
    """What is done after each run of the case's only batching, and at the end."""

    case: Case
    acts: tuple[tuple[Act, ...], ...]
    ending: Ending

    def __repr__(self) -> str:
        lines = [repr(self.case)]
        lines += [
            f"  after run {n}: {', '.join(map(str, acts))}" for n, acts in enumerate(self.acts, 1)
        ]
        return "\n".join([*lines, f"  at the end: {self.ending}"])


_THOUSANDTHS = st.integers(0, 1000)
_ACTS = st.builds(
    Act,
    st.sampled_from(("repair", "backfill", "backfill", "verify", "undo", "undo", "begin")),
    _THOUSANDTHS,
    _THOUSANDTHS,
    st.sampled_from((False, False, False, False, True)),
)
_ENDINGS = st.builds(
    Ending,
    st.sampled_from(("repair", "at once", "in parts")),
    st.lists(_THOUSANDTHS, min_size=1, max_size=3).map(tuple),
    st.sampled_from(("forwards", "backwards", "inside out")),
)


@st.composite
def runs(draw: st.DrawFn, records: int) -> Batching:
    """Two to four, some of which crash, some in several batches."""
    cuts = draw(st.lists(st.integers(records // 4, records - 1), min_size=1, max_size=3))
    most = st.sampled_from((None, None, -(-records // 5)))
    parts = sorted({max(1, cut) for cut in cuts})
    crashes = [draw(CRASHES) if draw(st.booleans()) else "none" for _ in parts]
    before = [
        Drain(*each) for each in zip(parts, [draw(most) for _ in parts], crashes, strict=True)
    ]
    return (*before, Drain(records, draw(most)))


@st.composite
def sequences(draw: st.DrawFn, form: RangedForm) -> Sequence:
    """Of records of which some may be late."""
    case = draw(cases(one_time_an_id=form.one_time_an_id, ways=(runs,), in_order=False))
    acts = tuple(tuple(draw(st.lists(_ACTS, max_size=2))) for _ in case.batchings[0])
    return Sequence(in_kafkas_order(case), acts, draw(_ENDINGS))


def in_kafkas_order(case: Case) -> Case:
    """The case with timestamps in order within an id: a repair keeps the first by timestamp."""
    newest: dict[str, int] = {}
    records: list[Record] = []
    for record in case.records:
        if record.event is not None and record.kind == "good":
            ms = max(record.kafka_ms, newest.get(record.event.event_id, 0))
            newest[record.event.event_id] = ms
            records.append(record._replace(kafka_ms=ms))
        else:
            records.append(record)
    return case._replace(records=tuple(records))


def searching(form: str, searched: int, cases: int) -> Callable[[Any], Any]:
    """How the long forms search: so many cases, by the seed of the run and the form's name. A
    smaller sequence takes as long to try: none is looked for.
    """
    how = settings(
        max_examples=cases,
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=(Phase.generate,),
        print_blob=True,
    )
    return lambda test: seed(searched ^ zlib.crc32(form.encode()))(how(test))
