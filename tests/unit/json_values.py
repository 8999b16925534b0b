"""Texts of JSON and the value of each, by the type of the field: parts of json_records.py.

Times are microseconds since 1970, dates days.
"""

from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np

REFUSED, UNSURE = "refused", "unsure"
"""UNSURE: of the JVM alone. It leaves the record to Python."""
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999


def us(text: str) -> int:
    return (datetime.fromisoformat(text.upper()) - EPOCH) // timedelta(microseconds=1)


def quoted(*texts: str) -> dict[str, str]:
    """Each of them a text of JSON that is refused."""
    return {f'"{text}"': REFUSED for text in texts}


def refused(texts: str) -> dict[str, str]:
    """Each of them, between spaces, is."""
    return dict.fromkeys(texts.split(), REFUSED)


def days() -> dict[str, Any]:
    """Of some years each month's first and last day, and the day behind it."""
    found: dict[str, Any] = {}
    for year in (1, 4, 99, 100, 101, 400, 1600, 1900, 2000, 2012, 2013, 2100, 9999):
        for month in range(1, 13):
            last = monthrange(year, month)[1]
            for day in (1, last):
                number = (date(year, month, day) - EPOCH.date()).days
                found[f'"{year:04}-{month:02}-{day:02}"'] = number
            found[f'"{year:04}-{month:02}-{last + 1}"'] = REFUSED
    return found


def deep(levels: int, begin: str = "[", end: str = "]", inner: str = "") -> str:
    return begin * levels + inner + end * levels


ESCAPES = {
    rf'"{written}"': text
    for written, text in {
        r"\"": '"', r"\\": "\\", r"\/": "/", r"\b": "\b", r"\f": "\f", r"\n": "\n", r"\r": "\r",
        r"\t": "\t", r"\u0000": "\0", r"\u007f": "\x7f", r"\u0080": "\x80", r"\u07ff": "\u07ff",
        r"\u0800": "\u0800", r"\ud7ff": "\ud7ff", r"\ue000": "\ue000", r"\uffff": "\uffff",
        r"\uFFFF": "\uffff", r"\u9a0F": "\u9a0f", r"\ud800\udc00": "\U00010000",
        r"\udbff\udfff": "\U0010ffff", r"\ud83d\ude00": "\U0001f600", r"a\u0062c": "abc",
        r"\u0061 Ä\\": "a Ä\\",
    }.items()
} | quoted(
    r"\x", r"\u", r"\u12", r"\u12g4", r"\u00g0", r"\u00é1", r"\ud800", r"\udfff", r"\udc00\udc00",
    r"\ud83dx", r"\ud83dxude00", r"\ud83d\xde00", r"\ud83d\udbff", r"\ud83d\ue000", r"\ud83d\u0041",
    "\\n\x1f", "\\n\n", "\x1f", "\n", "\0",
)  # fmt: skip
TIMES = {
    f'"{text}"': us(text)
    for text in (
        "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2013-01-31T22:01:02Z",
        "2013-01-31t22:01:02z", "2013-01-31 22:01:02Z", "2013-12-01T23:59:59Z",
        "2013-01-31T22:01:02.5Z", "2013-01-31T22:01:02.123456Z", "2013-01-31T22:01:02+01:30",
        "2013-01-31T22:01:02-01:30", "2013-01-31T22:01:02+0130", "2013-01-31T22:01:02-00:00",
        "2013-01-31T22:01:02-23:59", "2013-01-31T22:01:02+23:59",
    )
} | {
    '"2013-01-31T22:01:02.1234569Z"': us("2013-01-31T22:01:02.123456Z"),
    f'"2013-01-31T22:01:02.{"1" * 40}Z"': us("2013-01-31T22:01:02.111111Z"),
    r'"\u0031970-01-01T00:00:00Z"': 0,
    '"0001-01-01T00:00:00Z"': FIRST,
    '"0001-01-01T00:01:00+00:01"': FIRST,
    '"9999-12-31T23:59:59.9999999Z"': LAST,
    r'"\u00000000-01-01T00:00:00Z"': UNSURE,
    r'"1970-01-01T00:00:00Z\u0000"': UNSURE,
    r'"1970-01-01T00:00:00\u0000Z"': UNSURE,
} | quoted(
    "", "1970-01-01", "1970-01-01T00:00:00", "1970-01-01T00:00:0Z", "1970-01-01T00:00Z",
    "1970-01-01x00:00:00Z", "1970-01-01T24:00:00Z", "1970-01-01T23:60:00Z", "1970-01-01T23:59:60Z",
    "1970-01-01T00-00:00Z", "1970-01-01T00:00-00Z", "1970/01-01T00:00:00Z", "1970-01/01T00:00:00Z",
    "1970-01-01T00:00:00.Z", "1970-01-01T00:00:00,5Z", "1970-01-01T00:00:00ZZ", "1970-01-01T00:00:00x",
    "1970-01-01T00:00:00+", "1970-01-01T00:00:00+01", "1970-01-01T00:00:00+01:", "1970-01-01T00:00:00+01:0",
    "1970-01-01T00:00:00+01:00x", "1970-01-01T00:00:00+24:00", "1970-01-01T00:00:00+23:60",
    "1970-01-01T00:00:00*01:00", "1970-01-01T00:00:00+1:000", "1970-01-01T0/:00:00Z", "1970-01-01T0::00:00Z",
    "0001-01-01T00:00:59.999999+00:01", "9999-12-31T23:59:00-00:01", "0000-01-01T00:00:00Z",
)  # fmt: skip
"""Of a timestamp, which has a zone."""


def whole(most: int) -> dict[str, Any]:
    """Of a whole number, the largest of its type."""
    good = (0, 1, -1, 9, 10, 90, most, most - 1, -most, -most - 1)
    bad = [str(most + 1), str(-most - 2), "9" * 20, str(2**64), "9" * 400]
    return {
        **{str(each): each for each in good},
        **dict.fromkeys(bad, REFUSED),
        **refused("1.0 1e2 1.5 00 01 -01 - -- +1 / : x true [] {}"),
        '"1"': REFUSED,
    }


def in_text(of: dict[str, Any]) -> dict[str, Any]:
    """The numbers as texts."""
    texts = {f'"{text}"': fate for text, fate in of.items() if not text.startswith('"')}
    return texts | refused('1 1.5 true null_ "" []')


REALS = {
    "0": 0.0, "-0.0": -0.0, "0.1": 0.1, "1.5": 1.5, "-1.5": -1.5, "1E+2": 100.0, "1e-2": 0.01,
    "1e2": 100.0, "100": 100.0, "123456789012345678": 123456789012345678.0, "0e999": 0.0,
    "9007199254740993": 9007199254740992.0, "1e308": 1e308, "1e-400": 0.0, "90.09": 90.09,
    f"0.{'3' * 298}": float("0." + "3" * 298), f"0.{'3' * 299}": UNSURE,
    **refused("1e309 -1e309 1. 1.e1 1e 1e+ .5 -.5 - 00 00.5 01.5 1.5x 1.5/ 1.5: true 1..5"),
}  # fmt: skip
"""Of a double."""
FLOATS = {
    "0.1": float(np.float32(0.1)), "3.4028234663852886e38": 3.4028234663852886e38,
    "-3.4028234663852886e38": -3.4028234663852886e38, "3.4028235e38": REFUSED, "1e309": REFUSED,
    "-3.4028235e38": REFUSED, "2e38": float(np.float32(2e38)), "true": REFUSED,
}  # fmt: skip
DECIMALS = {
    "0": Decimal(0), "-0": Decimal(0), "0.000": Decimal(0), "0e999": Decimal(0), "1.5": Decimal("1.5"),
    "-1.25": Decimal("-1.25"), "1.1000": Decimal("1.1"), "125e-2": Decimal("1.25"),
    "0.125E+1": Decimal("1.25"), "1e000": Decimal(1), "1e001": Decimal(10), "90": Decimal(90),
    f"0.{'0' * 298}": Decimal(0), f"0.{'0' * 299}": UNSURE,
    **refused("0.001 1e-3 1e999 1e0001 1. .5 1.e1 1e 1e+ - 00 01 -01 1x true [] {}"),
}  # fmt: skip
"""Of a decimal(10, 2), a decimal(5, 2) and a decimal(6, 2)."""
