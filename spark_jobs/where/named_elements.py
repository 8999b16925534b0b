"""Named elements: the records of values with many that a person names are there."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from spark_jobs.decode.formats import elements_of
from spark_jobs.decode.record_decoder import prepare
from spark_jobs.draft.sample import records
from spark_jobs.errors import DecisionRefused
from spark_jobs.repair.offsets.slices import less
from spark_jobs.source.place import WHOLE, Place
from spark_jobs.source.positions import parts_of
from spark_jobs.source.sources import source_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spark_jobs.settings.installation import Settings
    from spark_jobs.spec import Pipeline


def refuse_absent(spec: Pipeline, settings: Settings, named: Iterable[Place]) -> None:
    """Raise DecisionRefused for an element that its value does not have. Of a value that the source
    does not have, or not yet, nobody can tell.
    """
    asked = defaultdict[Place, list[Place]](list)
    for place in named:
        if place.element != WHOLE:
            asked[place.value].append(place)
    if not asked:
        return
    [topic] = spec.inputs
    source = source_of(spec, settings)
    state = source.state()
    there = state.earliest.rest(state.latest.cut(parts_of(asked)))
    by = elements_of(topic, prepare(topic, settings.root, settings).given[0])
    for value in source.sampled(less(there, source.taken(there))):
        [elements] = by.of(records([value]))
        numbers = {each.number for each in elements if each.number is not None and each.number >= 0}
        at = Place(value.partition, value.offset)
        for place in asked[at]:
            if place.element not in numbers:
                shown = spec.inputs.shown
                raise DecisionRefused.no_element(
                    record=place.text(shown), value=at.text(shown), records=len(numbers)
                )
