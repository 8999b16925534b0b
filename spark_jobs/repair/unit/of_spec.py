"""Of spec: the unit of a spec. Nothing else asks which unit there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spark_jobs.repair.unit.key_unit import KeyUnit
from spark_jobs.repair.unit.range_unit import RangeUnit
from spark_jobs.repair.unit.session_unit import SessionUnit
from spark_jobs.spec.analysis.ranged import sessions

if TYPE_CHECKING:
    from spark_jobs.repair.unit.unit import Unit
    from spark_jobs.spec import Pipeline


def unit_of(spec: Pipeline) -> Unit:
    """Also where nothing can be computed: what was staged may still be taken back."""
    if spec.keyed is not None:
        return KeyUnit(spec, spec.keyed)
    return SessionUnit(spec) if sessions(spec) else RangeUnit(spec)
