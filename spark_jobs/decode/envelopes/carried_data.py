"""Carried data: structured CloudEvents whose data is bytes, in `data_base64` in place of `data`."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Final

from spark_jobs.decode.formats import Decoded, Records, decoder_class
from spark_jobs.decode.together import together
from spark_jobs.spec import Field
from spark_jobs.spec.fields.place import Place

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spark_jobs.spec import Format

MEMBER: Final = "data_base64"
NO_BASE64: Final = f"`$.{MEMBER}` is no base64"
BOTH: Final = f"it has both `$.data` and `$.{MEMBER}`"


class CarriedData:
    """The structured events of a topic, by a decoder of whole events."""

    def __init__(
        self,
        format_: Format,
        whole: Format,
        places: Sequence[Place],
        data: Sequence[Place],
        wanted: Sequence[str],
        given: object,
    ) -> None:
        """`whole` is the format of an event with these places; that of the bytes, with the places
        `data`, is in the topic's `format_`, which prepared `given`.
        """
        names = [each.field.name for each in places]
        name = next(f"{MEMBER}_{n}" for n in range(len(names) + 1) if f"{MEMBER}_{n}" not in names)
        member = Place(
            Field(name=name, type="string", part="envelope", required=False), ((MEMBER,),)
        )
        around = [each for each in places if each.field.part == "envelope"]
        # Whoever declares it has its bytes already.
        declared = any(path[0] == MEMBER for each in around for path in each.paths)
        self._reads = bool(data) and not declared
        more = (member,) if self._reads else ()
        of = decoder_class(whole)
        # Whatever is wanted, all of the data tells whether the event has it in both places.
        unwanted = [each.field.name for each in data if each.field.name not in wanted]
        told = [*wanted, *unwanted, name] if self._reads else wanted
        self._whole = of(whole, (*places, *more), told, None)
        self._told_by = [told.index(each.field.name) for each in data] if self._reads else []
        self._names = [each.field.name for each in around if each.field.name in wanted]
        self._around = of(whole, around, self._names, None)
        inner = format_.within
        self._of_data = [each.field.name for each in data if each.field.name in wanted]
        self._data = decoder_class(inner)(inner, data, self._of_data, given)
        self._wanted = tuple(wanted)

    def decode(self, records: Records) -> Decoded:
        """As the port has it."""
        import pyarrow as pa  # noqa: PLC0415 - a process that only plans needs it not

        found = self._whole.decode(records)
        if not self._reads:
            return found
        [*every, texts] = found.columns
        columns = every[: len(self._wanted)]
        own = Decoded(columns, found.reasons)
        if texts.null_count == len(texts):
            return own
        here = texts.is_valid().to_pylist()
        others = [number for number, carried in enumerate(here) if not carried]
        numbers = [number for number, carried in enumerate(here) if carried]
        twice = {n for n in numbers if any(every[at][n].is_valid for at in self._told_by)}
        carried = self._carried(records.at(numbers), texts.drop_null().to_pylist())
        reasons = [
            BOTH if n in twice else why for n, why in zip(numbers, carried.reasons, strict=True)
        ]
        cut = Decoded(
            [column.take(pa.array(others, pa.int64())) for column in columns],
            [found.reasons[n] for n in others],
        )
        return together([cut, carried._replace(reasons=reasons)], [others, numbers])

    def _carried(self, records: Records, texts: Sequence[str]) -> Decoded:
        import pyarrow as pa  # noqa: PLC0415 - as above

        values, wrong = list[bytes](), dict[int, str]()
        for number, text in enumerate(texts):
            try:
                values.append(base64.b64decode(text, validate=True))
            except (binascii.Error, ValueError):
                wrong[number] = NO_BASE64
                values.append(b"")
        around = self._around.decode(records)
        data = self._data.decode(records._replace(values=pa.array(values, pa.binary())))
        found = dict(zip(self._names, around.columns, strict=True))
        found |= dict(zip(self._of_data, data.columns, strict=True))
        reasons = [
            wrong.get(number) or first or second
            for number, (first, second) in enumerate(zip(around.reasons, data.reasons, strict=True))
        ]
        return Decoded([found[name] for name in self._wanted], reasons)
