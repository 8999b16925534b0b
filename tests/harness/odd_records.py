"""Odd records: JSON of a topic's fields as producers get it wrong, and as nobody expects it."""

import random
import struct
from collections.abc import Callable, Sequence

from spark_jobs.spec import Field, Topic

NUMBERS = [
    "0",
    "-0",
    "1",
    "-1",
    "00",
    "01",
    "-01",
    "-",
    "+1",
    "1.",
    ".5",
    "1e",
    "1e+",
    "0x1",
    "1_0",
    "NaN",
    "Infinity",
    "-Infinity",
    "32767",
    "32768",
    "-32768",
    "-32769",
    "2147483647",
    "2147483648",
    "-2147483648",
    "-2147483649",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "99999999999999999999",
    "12345678901234567890123",
    "9007199254740993",
    "123456789012345678",
    "1.0",
    "1.5",
    "-1.5",
    "1e2",
    "1E+2",
    "1e-2",
    "1.0e0",
    "0.1",
    "0.0",
    "-0.0",
    "0e5",
    "0e999",
    "1e0000000001",
    "1e308",
    "1.8e308",
    "1e309",
    "1e999",
    "1e-320",
    "1e-400",
    "4.9e-324",
    "2.2250738585072011e-308",
    "1.7976931348623157e308",
    "1.7976931348623159e308",
    "3.4028234663852886e38",
    "3.4028234663852887e38",
    "3.4028235e38",
    "0.12345678901234567890123456789",
    "123456.78",
    "12345678.90",
    "12345678.901",
    "0.000000001",
    "1e-9",
    "123e-2",
    "99999",
    "100000",
    "-99999.0",
    "2.5e3",
    "1e7",
    "1e8",
    "1700000000.5",
    "1700000000000",
    "253402300799999",
    "253402300800000",
    "-62135596800000",
    "-62135596800001",
    "253402300799999999",
    "253402300800000000",
    "-62135596800000000",
    "-62135596800000001",
    "2932896",
    "2932897",
    "-719162",
    "-719163",
]
TIMES = [
    f"2013-01-31{rest}"
    for rest in (
        "", "T22:00:00Z", "t22:00:00z", " 22:00:00Z", "T22:00:00", "T22:00:00.5", "T22:00:00.",
        "T22:00:00.Z", "T22:00:00,5Z", "T22:00Z", "T22Z", "T24:00:00Z", "T23:60:00Z", "T23:59:60Z",
        "T22:00:00.123456Z", "T22:00:00.1234567Z", "T22:00:00.9999999Z", "T22:00:00.123456789+05:30",
        f"T22:00:00.{'1' * 40}Z", "T22:00:00+01:00", "T22:00:00+0100", "T22:00:00+01", "T22:00:00-00:00",
        "T22:00:00+1:00", "T22:00:00+01:00:00", "T22:00:00-23:59", "T22:00:00+24:00", "T22:00:00+23:60",
        "T22:00:00Z ", "T22:00:00 Z", "T22:00:00ZZ", r"T22:00:00\u005a", r"T22:00:00\u0000",
        r"T22:00:00\u002e1234567Z", r"T22:00:00.\u0031234567Z", r"T22\u003a00:00.1234567Z",
        r"T22:00:00.123456\u00005", r"\u003",
    )
] + [
    "2013-02-29T00:00:00Z", "2012-02-29T00:00:00Z", "1900-02-29T00:00:00Z", "2000-02-29T00:00:00Z",
    "2013-13-01T00:00:00Z", "2013-00-01T00:00:00Z", "2013-01-00T00:00:00Z", "2013-04-31T00:00:00Z",
    "9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59-00:01",
    "9999-12-31T23:59:59.9999999", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00+00:01",
    "0001-01-01T00:00:00.0000009", "0000-01-01T00:00:00Z", "2013-1-31", "20130131", "2013/01/31",
    "9999-12-31", "0000-01-01", "2013-02-30", r"\u0032013-01-31", "+2013-01-31T22:00:00Z",
]  # fmt: skip
TEXTS = [
    "", "a", "Ä", "日本", "😀", "'", "true", "null", "x" * 70, "\x00", "\x01", "\x1f", "\x7f", "\n", "\t", "\\",
    r"\n", r"\"", r"\\", r"\/", r"\b\f\r\t", r"\x", r"\u12", r"\u12g4", r"\u0000", r"a\u0062c", r"\u00e9",
    r"\ud83d\ude00", r"\uD83D\uDE00", r"\ud83d", r"\ude00", r"\ud83dx", r"\ud83d\u0041", r"\ude00\ud83d",
    r"\u212a", "\N{KELVIN SIGN}", "Å", "\N{LATIN SMALL LETTER LONG S}",
]  # fmt: skip
WORDS = [
    "null", "true", "false", "nul", "tru", "True", "falsee", "None", "", '"', "{}", "[]", "[1]", "[[[]]]",
    "[1,]", "[,1]", "[1 2]", '["x",1]', '{"a":1}', '{"a":1,}', "{a:1}", '{"a"}', "{1:2}", '{"n":1}',
    '["a",null,5,6]', '["a","2013-01-31T22:00:00Z",5]', '["a","2013-01-31T22:00:00.1234567Z","5"]',
    "[null]", "[" * 5 + "]" * 5, "[" * 60 + "]" * 60, "[" * 150 + "]" * 150, "[" * 3000 + "]" * 3000,
    '{"a":' * 120 + "1" + "}" * 120,
]  # fmt: skip
BYTES = [
    b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xe2\x82", b"\xef\xbb\xbf", b"\x00", b"\xc3\xa9",
    b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\\u", b"null", b"0", b"-", b"e", b".", b" ",
]  # fmt: skip
WHOLES: list[bytes | None] = [None, b"", b" ", b"{}", b"[]", b"null", b"1", b'"x"', b"tru"]
MANGLED: Sequence[Callable[[str], str]] = (
    str.upper, str.swapcase, str.capitalize, lambda key: key + "x", lambda _: "\N{KELVIN SIGN}",
    lambda key: key.replace("a", r"\u0061"), lambda key: key.replace("/", r"\/"),
    lambda key: key.upper().replace("/", r"\/"), lambda key: key.upper().replace("A", r"\u0041"),
)  # fmt: skip


FLAT = Topic(
    name="flat",
    event_time="at",
    fields=(
        Field(name="s", type="string"),
        Field(name="at", type="timestamp"),
        Field(name="i", type="int"),
        Field(name="text", type="string", required=False),
        Field(name="small", type="smallint", required=False),
        Field(name="big", type="bigint", required=False),
        Field(name="f", type="float", required=False),
        Field(name="d", type="double", required=False),
        Field(name="flag", type="boolean", required=False),
        Field(name="local", type="timestamp_ntz", required=False),
        Field(name="day", type="date", required=False),
        Field(name="price", type="decimal(10,2)", required=False),
        Field(name="wide", type="decimal(38,10)", required=False),
    ),
)
FORMATTED = Topic(
    name="formatted",
    event_time="at",
    tombstones="dropped",
    fields=(
        Field(name="at", type="timestamp", format="ms"),
        Field(name="us", type="timestamp", format="us", required=False),
        Field(name="ns", type="timestamp_ntz", format="ns", required=False),
        Field(name="day", type="date", format="days", required=False),
        Field(name="small", type="smallint", format="text", required=False),
        Field(name="i", type="int", format="text", required=False),
        Field(name="big", type="bigint", format="text", required=False),
        Field(name="f", type="float", format="text", required=False),
        Field(name="d", type="double", format="text", required=False),
        Field(name="flag", type="boolean", format="text", required=False),
        Field(name="whole", type="decimal(5,0)", format="text", required=False),
        Field(name="part", type="decimal(2,2)"),
        Field(name="cost", type="decimal(5,2)", format="text"),
    ),
)
NESTED = Topic(
    name="nested",
    event_time="at",
    fields=(
        Field(name="s", type="string", path="eventId"),
        Field(name="at", type="timestamp", path="meta.at"),
        Field(name="n", type="int", path="meta.optional.n", required=False),
        Field(name="first", type="string", path="user.name.first", required=False),
        Field(name="slash", type="bigint", path='user."a/b"', required=False),
        Field(name="amount", type="decimal(6,2)", path="user.amount"),
        Field(name="origin", type="string", path="route[0]"),
        Field(name="seen", type="timestamp", path="x.stops[1]", required=False),
        Field(name="gate", type="int", path="x.stops[2]", required=False),
    ),
)
TOPICS = {topic.name: topic for topic in (FLAT, FORMATTED, NESTED)}
"""What the JVM reads: flat, in formats of numbers and texts, and nested."""


class OddRecords:
    """Records of a topic by a seed: each is good, or wrong in some places."""

    def __init__(self, topic: Topic, seed: int) -> None:
        self._fields = topic.fields
        self._chance = random.Random(seed)
        self._odd, self._lacks = 0.0, 0.0

    def record(self) -> bytes | None:
        """The next one."""
        chance = self._chance
        self._odd, self._lacks = (
            chance.choice([0, 0, 0.03, 0.1, 0.3]),
            chance.choice([0, 0, 0, 0.05, 0.3]),
        )
        if chance.random() < 0.01:
            return chance.choice(WHOLES)
        parts: dict[object, object] = {}
        for field in self._fields:
            *way, last = field.paths[0]
            at = parts
            for step in way:
                at = at.setdefault(step, {})  # type: ignore[assignment]
            at[last] = field
        return self._damaged(self._json(parts).encode("utf-8", "surrogatepass"))

    def _json(self, of: object) -> str:
        if isinstance(of, Field):
            return self._any() if self._chance.random() < self._odd else self._good(of)
        assert isinstance(of, dict)
        if self._chance.random() < self._odd / 3:
            return self._any()
        if any(isinstance(step, int) for step in of):
            length = max(of) + self._chance.choice([0, 1, 1, 1, 2])
            members = (self._json(of[n]) if n in of else self._other() for n in range(length))
            return f"[{','.join(members)}]"
        pairs = [
            (key, self._json(part))
            for key, part in of.items()
            if self._chance.random() >= self._lacks
        ]
        if pairs and self._chance.random() < 0.1:
            pairs.append(self._chance.choice(pairs))
        if pairs and self._chance.random() < 0.1:
            pairs.append((self._chance.choice(pairs)[0], self._any()))
        if self._chance.random() < 0.1:
            more = self._chance.choice(["zz", "Ünknown", "\N{KELVIN SIGN}", r"é\n"])
            pairs.insert(self._chance.randrange(len(pairs) + 1), (more, self._any()))
        if self._chance.random() < 0.1:
            self._chance.shuffle(pairs)
        inner = (
            f'{self._space()}"{self._key(key)}"{self._space()}:{self._space()}{value}'
            for key, value in pairs
        )
        return "{" + ",".join(inner) + self._space() + "}"

    def _other(self) -> str:
        return self._any() if self._chance.random() < self._odd else "null"

    def _key(self, key: str) -> str:
        return key if self._chance.random() < 0.98 else self._chance.choice(MANGLED)(key)

    def _space(self) -> str:
        return "" if self._chance.random() < 0.95 else self._chance.choice(" \n\t\r")

    def _any(self) -> str:
        chance = self._chance
        digits = chance.randrange(1, 25)
        return chance.choice([
            lambda: "null",
            lambda: chance.choice(WORDS),
            lambda: chance.choice(NUMBERS),
            lambda: f'"{chance.choice(NUMBERS)}"',
            lambda: f'"{chance.choice(TIMES)}"',
            lambda: f'"{chance.choice(TEXTS)}{chance.choice(["", *TEXTS])}"',
            lambda: str(chance.randrange(-(10**digits), 10**digits)),
            lambda: f"{chance.randrange(10**digits)}.{chance.randrange(10**digits)}e{chance.randrange(-330, 330)}",
            lambda: repr(struct.unpack("d", chance.randbytes(8))[0]).replace("nan", "0").replace("inf", "1e3"),
        ])()  # fmt: skip

    def _good(self, field: Field) -> str:
        chance = self._chance
        whole = {
            "ms": 62_135_596_800_000, "us": 62_135_596_800_000_000, "ns": 2**63 - 1, "days": 719_162,
            "smallint": 2**15 - 1, "int": 2**31 - 1, "bigint": 2**63 - 1,
        }  # fmt: skip
        kind = field.kind if field.format in (None, "text") else str(field.format)
        at = (
            f"{chance.randrange(1, 10_000):04}-{chance.randrange(1, 13):02}-{chance.randrange(1, 29):02}"
            f"T{chance.randrange(24):02}:{chance.randrange(60):02}:{chance.randrange(60):02}"
        )
        of_second = chance.choice(["", ".5", ".123", ".123456", ".1234567", ".999999999"])
        if kind in whole:
            found = str(chance.randrange(-whole[kind], whole[kind]))
        else:
            found = {
                "string": lambda: chance.choice(['"abc"', '"Ä"', r'"\u00e9"', '""']),
                "float": lambda: repr(chance.random() * 10.0 ** chance.randrange(-10, 38)),
                "double": lambda: repr(chance.uniform(-1, 1) * 10.0 ** chance.randrange(-300, 300)),
                "boolean": lambda: chance.choice(["true", "false"]),
                "decimal": lambda: chance.choice(
                    ["0.5", "0", "-0.25", "1e-2", "-0.01", "1"]
                    + [f"{one}{'0' * chance.randrange(30, 90)}" for one in ("-0.5", "0.0", "0.25")]
                    + [f"1{'0' * 77}e-77"]
                ),
                "timestamp": lambda: f'"{at}{of_second}Z"',
                "timestamp_ntz": lambda: f'"{at}{of_second}"',
                "date": lambda: f'"{at[:10]}"',
            }[kind]()
        return f'"{found}"' if field.format == "text" and not found.startswith('"') else found

    def _damaged(self, record: bytes) -> bytes:
        chance, found = self._chance, bytearray(record)
        for _ in range(chance.choice([0] * 20 + [1, 1, 2])):
            at = chance.randrange(len(found) + 1)
            cut = chance.choice([0, 0, 1, 1])
            found[at : at + cut] = chance.choice([b"", bytes([chance.randrange(256)]), *BYTES])
        if chance.random() < 0.02:
            del found[chance.randrange(len(found) + 1) :]
        return bytes(found)
