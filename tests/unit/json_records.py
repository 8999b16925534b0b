"""Records of JSON and what becomes of each: the table that both decoders are held to."""

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from spark_jobs.spec import Field, Topic
from tests.harness.odd_records import FLAT, FORMATTED, NESTED
from tests.unit.json_values import (
    DECIMALS,
    ESCAPES,
    FIRST,
    FLOATS,
    LAST,
    REALS,
    REFUSED,
    TIMES,
    UNSURE,
    days,
    deep,
    in_text,
    quoted,
    whole,
)

EDGES = Topic(
    name="edges",
    event_time="at",
    fields=(
        Field(name="at", type="timestamp"),
        Field(name="letters", type="int", path="az", required=False),
        Field(name="behind_z", type="int", path='"{"', required=False),
        Field(name="before_a", type="int", path='"`"', required=False),
    ),
)
"""Letters at the ends of the alphabet, and beside them."""
BASE = {
    FLAT.name: {"s": '"a"', "at": '"1970-01-01T00:00:00Z"', "i": "1"},
    FORMATTED.name: {"at": "0", "part": "0", "cost": '"0"'},
    NESTED.name: {
        "eventId": '"a"',
        "meta": '{"at":"1970-01-01T00:00:00Z"}',
        "user": '{"amount":1}',
        "route": '["a"]',
    },
    EDGES.name: {"at": '"1970-01-01T00:00:00Z"'},
}
"""Topic -> the members of a good record."""
ROW: dict[str, dict[str, Any]] = {
    FLAT.name: {"s": "a", "at": 0, "i": 1},
    FORMATTED.name: {"at": 0, "part": Decimal(0), "cost": Decimal(0)},
    NESTED.name: {"s": "a", "at": 0, "amount": Decimal(1), "origin": "a"},
    EDGES.name: {"at": 0},
}
"""Topic -> the values of that record; the others are null."""


MEMBERS: dict[str, dict[str, dict[str, Any]]] = {
    FLAT.name: {
        "s": {'"b"': "b", "null": REFUSED, "1": REFUSED, "true": REFUSED, "[]": REFUSED},
        "at": {**TIMES, "0": REFUSED, "null": REFUSED},
        "i": {
            **whole(2**31 - 1), "null": REFUSED, '"x"': REFUSED,
            deep(99): REFUSED, deep(100): UNSURE,
        },
        "text": {
            '""': "", '"a b"': "a b", '"\x7fÄ"': "\x7fÄ", "null": None, "1": REFUSED, "false": REFUSED,
            f'"{"x" * 300}\\n"': "x" * 300 + "\n", f'"\\n{"x" * 900}"': "\n" + "x" * 900, **ESCAPES,
        },
        "small": whole(2**15 - 1),
        "big": {**whole(2**63 - 1), "9" * 18: 10**18 - 1, "1" + "0" * 18: 10**18, "null": None},
        "f": FLOATS,
        "d": {**REALS, "-0": 0.0, '"1"': REFUSED},
        "flag": {
            "true": True, "false": False, "null": None, "True": REFUSED, "truE": REFUSED,
            "falsE": REFUSED, "1": REFUSED, '"true"': REFUSED,
        },
        "local": {
            '"1970-01-01T00:00:00"': 0, '"1970-01-01T00:00:00.5"': 500_000,
            '"9999-12-31T23:59:59.9999999"': LAST, '"0001-01-01T00:00:00"': FIRST,
            **quoted("1970-01-01T00:00:00Z", "1970-01-01T00:00:0", "1970-01-01T00:00:00.", "1970-01-01T00:00:00+00:00"),
        },
        "day": {
            **days(), "0": REFUSED,
            **quoted("1970-1-01", "1970-01-1", "1970-01-01T00:00:00", "1970-01-01 ", "1970/01/01",
                     "0000-01-01", "1970-00-01", "1970-13-01", "1970-01-00", "x970-01-01"),
        },
        "price": {
            **DECIMALS, "99999999.99": Decimal("99999999.99"), "100000000": REFUSED, '"1"': REFUSED,
            "1e7": Decimal(10**7), "1e8": REFUSED, "null": None,
        },
        "wide": {
            "9" * 28 + "." + "9" * 10: Decimal("9" * 28 + "." + "9" * 10), "1" + "0" * 28: REFUSED,
            "0.12345678901": REFUSED,
        },
    },
    FORMATTED.name: {
        "at": {
            "1": 1000, "-1": -1000, '"1"': 1000, '"-1"': -1000, str(FIRST // 1000): FIRST,
            str(LAST // 1000): LAST - 999, str(FIRST // 1000 - 1): REFUSED, str(LAST // 1000 + 1): REFUSED,
            **dict.fromkeys(('1.0', '1e3', '"1.0"', '""', '"-"', '"01"', '"-01"', '"1x"', '"/"', '":"',
                             "true", "null", '"1970-01-01T00:00:00Z"'), REFUSED),
            '"-0"': 0, '"0"': 0, '"00"': REFUSED,
        },
        "us": {
            "1": 1, str(FIRST): FIRST, str(LAST): LAST, str(FIRST - 1): REFUSED, str(LAST + 1): REFUSED,
            f'"{LAST}"': LAST, "null": None,
        },
        "ns": {
            "1": 0, "999": 0, "1000": 1, "1001": 1, "-1": -1, "-1000": -1, "-1001": -2, '"1999"': 1,
            str(2**63 - 1): 9223372036854775, str(2**63): REFUSED, f'"{2**63 - 1}"': 9223372036854775,
            f'"{2**63}"': REFUSED, "9" * 20: REFUSED, f'"{"9" * 20}"': REFUSED, "1.5": REFUSED,
        },
        "day": {
            "1": 1, '"-1"': -1, "-719162": -719_162, "-719163": REFUSED, "2932896": 2_932_896,
            "2932897": REFUSED, "1.0": REFUSED, '"1970-01-01"': REFUSED, "true": REFUSED,
        },
        "small": in_text(whole(2**15 - 1)),
        "i": in_text(whole(2**31 - 1)),
        "big": in_text(whole(2**63 - 1)),
        "f": in_text(FLOATS),
        "d": in_text({**REALS, "-0": -0.0, "1e0001": REFUSED, "1e0000": REFUSED}),
        "flag": {
            '"true"': True, '"false"': False, "true": REFUSED, '"True"': REFUSED, '"truex"': REFUSED,
            '""': REFUSED, "1": REFUSED, "null": None,
        },
        "whole": in_text({
            "99999": Decimal(99999), "-99999.0": Decimal(-99999), "100000": REFUSED, "1e4": Decimal(10**4),
            "1e5": REFUSED, "0.5": REFUSED,
        }),
        "part": {
            "0.99": Decimal("0.99"), "-0.01": Decimal("-0.01"), "0.00": Decimal(0), "1": REFUSED,
            "0.001": REFUSED, "null": REFUSED,
        },
        "cost": in_text({**DECIMALS, "999.99": Decimal("999.99"), "1000": REFUSED}),
    },
    NESTED.name: {
        "eventId": {'"b"': {"s": "b"}, "null": REFUSED},
        "meta": {
            '{"at":"1970-01-01T00:00:01Z","z":[1]}': {"at": 1_000_000},
            '{"at":"1970-01-01T00:00:00Z","optional":{"n":5}}': {"n": 5},
            '{"optional":{"n":5},"at":"1970-01-01T00:00:00Z"}': {"n": 5},
            '{"at":"1970-01-01T00:00:00Z","optional":null}': {},
            '{"at":"1970-01-01T00:00:00Z","optional":{}}': {},
            '{"at":"1970-01-01T00:00:00Z","optional":{"N":5}}': REFUSED,
            '{"at":"1970-01-01T00:00:00Z","optional":{"N":5,"n":null}}': {},
            '{"at":"1970-01-01T00:00:00Z","optional":[]}': REFUSED,
            '{"at":"1970-01-01T00:00:00Z","optional":5}': REFUSED,
            '{"at":"1970-01-01T00:00:00Z","Optional":5}': REFUSED,
            "{}": REFUSED, "null": REFUSED, "5": REFUSED, deep(99): REFUSED, deep(100): UNSURE,
        },
        "user": {
            '{"amount":1,"name":{"first":"x"}}': {"first": "x"},
            '{"amount":1,"name":{"first":"x","z":' + deep(97) + "}}": {"first": "x"},
            '{"amount":1,"name":{"first":"x","z":' + deep(98) + "}}": UNSURE,
            '{"amount":1,"a/b":7}': {"slash": 7},
            r'{"amount":1,"a\/b":7}': {"slash": 7},
            r'{"amount":1,"A\/b":7}': UNSURE,
            '{"amount":1,"A/b":7}': REFUSED,
            '{"amount":"1"}': REFUSED, '{"amount":9999.99}': {"amount": Decimal("9999.99")},
            '{"amount":10000}': REFUSED, '{"amount":null}': REFUSED,
        },
        "route": {
            '["b","c"]': {"origin": "b"}, r'["\u0062"]': {"origin": "b"}, ' [ "b" , 1 ] ': {"origin": "b"},
            "[[]]": REFUSED, "[1]": REFUSED, "[]": REFUSED, "[null]": REFUSED, "null": REFUSED,
            "{}": REFUSED, '{"0":"b"}': REFUSED, '"b"': REFUSED,
            '["b"': REFUSED, '["b",]': REFUSED, '[,"b"]': REFUSED, '["b" 1]': REFUSED, '["b",1,x]': REFUSED,
            f'["b",{deep(98)}]': {"origin": "b"}, f'["b",{deep(99)}]': UNSURE,
            f"[{deep(98)}]": REFUSED, f"[{deep(99)}]": UNSURE,
        },
        "x": {
            '{"stops":[1,"1970-01-01T00:00:01Z",5]}': {"seen": 1_000_000, "gate": 5},
            '{"stops":[1,"1970-01-01T00:00:01Z",5,6,7]}': {"seen": 1_000_000, "gate": 5},
            '{"stops":[1,"1970-01-01T00:00:01Z"]}': {"seen": 1_000_000},
            '{"stops":[{},null,5]}': {"gate": 5}, '{"stops":[1]}': {}, '{"stops":[]}': {}, '{"stops":null}': {},
            '{"stops":[1,null,5]} ': {"gate": 5}, "{}": {}, "null": {},
            '{"stops":[1,"1970-01-01T00:00:01Z","5"]}': REFUSED, '{"stops":[1,5]}': REFUSED,
            '{"stops":{}}': REFUSED, '{"stops":5}': REFUSED, '{"Stops":[]}': REFUSED, "[]": REFUSED, "5": REFUSED,
        },
    },
    EDGES.name: {
        "az": {"5": {"letters": 5}}, "Az": {"5": REFUSED}, "aZ": {"5": REFUSED}, "AZ": {"5": REFUSED},
        "{": {"5": {"behind_z": 5}}, "[": {"5": {}}, "`": {"5": {"before_a": 5}}, "@": {"5": {}},
        "azz": {"5": {}}, "a": {"5": {}}, "a\N{LATIN CAPITAL LETTER Z WITH DOT ABOVE}": {"5": {}},
    },
}  # fmt: skip
"""Topic -> a member of its good record -> text of the value -> the field's value, or those of some
fields. It takes the place of the member that is there, or comes last.
"""
BEHIND: dict[str, Any] = {
    **{text: {} for text in (
        "null", "true", "false", '"x"', r'"\u00e9"', "[]", "[1]", "[1,[2]]", "{}", '{"a":1}', '{"a":1,"b":{}}',
        "0", "-1", "1.5", "1e5", "1E-5", "1e+5", "10", "9", "1" * 1000, deep(99), " 1 ", "\n[ 1\t,\r2 ]",
        deep(99, '{"a":', "}", "1"), '{ "a" : 1 , "b" : [ ] }', "2" + "0" * 400,
    )},
    **dict.fromkeys((
        "nul", "nulL", "nulll", "truE", "falsE", "tru", "x", '"', '"\\', '"\\x"', "[", "[1", "[1,]", "[,1]", "[1 2]",
        "[1}", "{", "{]", '{"a"}', '{"a" 1}', '{"a",1}', '{"a":}', '{"a":1,}', '{,"a":1}', '{"a":1 "b":2}', "{a:1}",
        "{1:2}", "00", "01", "-", "-01", "1.", "1.e1", "1e", "1e+", ".5", "+1", "1x", "", "/", ":", '"\x1f"', '"\n"',
    ), REFUSED),
    "1" * 1001: UNSURE, deep(100): UNSURE, deep(100, '{"a":', "}", "1"): UNSURE,
}  # fmt: skip
"""Value of a member that no field names -> what becomes of the record."""
CUT = (
    '{@,"z":nul', '{@,"z":tru', '{@,"z":fals', '{@,"z":n', '{@,"z":1', '{@,"z":-', '{@,"z":1.', '{@,"z":1e', '{@,"z":1e+',
    '{@,"z":"x', '{@,"z":"x\\', '{@,"z":"\\n', '{@,"z":"\\u', '{@,"z":"\\u006', '{@,"z":"\\u0061', '{@,"z":"\\ud800',
    '{@,"z":"\\ud800\\', '{@,"z":"\\ud800\\u', '{@,"z":"\\ud800\\udc0', '{@,"z":', '{@,"z"', '{@,"z', '{@,', "{@", "{",
    '{@,"z":[', '{@,"z":[1', '{@,"z":[1,', '{@,"z":{', '{@,"z":{"a"', '{@,"z":{"a":', '{@,"z":{"a":1', '{@,"z":{"a":1,',
)  # fmt: skip
RECORDS: dict[str, dict[str | bytes | None, Any]] = {
    FLAT.name: {
        "{@}": {}, '{@,"i":2}': {"i": 2}, '{@,"i":"x","i":2}': UNSURE, '{@,"i":"x"}': UNSURE,
        '{@,"text":1}': REFUSED, '{@,"i":2,"text":1}': UNSURE, '{@,"text":1,"text":"b"}': UNSURE,
        '{"s":"a","i":1}': REFUSED, '{"at":"1970-01-01T00:00:00Z","i":1}': REFUSED,
        '{"s":"a","s":"b","i":1}': UNSURE, '{@,"s":null,"s":"b"}': UNSURE, '{@,"text":"b","text":null}': {},
        '{"i":1,"at":"1970-01-01T00:00:00Z","s":"a"}': {}, '{"d":1.5,@}': {"d": 1.5}, '{"d":1e5,@}': {"d": 1e5},
        '{@,"TEXT":"b"}': REFUSED, '{@,"TEXT":"b","text":null}': {}, '{@,"text":"b","TEXT":1}': {"text": "b"},
        '{@,"TEXT":"b","BIG":1}': REFUSED, '{@,"TEXT":"b","BIG":1,"big":1}': REFUSED,
        '{@,"BIG":1,"TEXT":"b","text":"c"}': REFUSED, '{@,"flAg":true,"dAy":1}': REFUSED,
        '{@,"TEXT2":1,"TEX":1}': {}, '{@,"i":2,"TEXT":1}': UNSURE,
        r'{@,"t\u0065xt":"b"}': {"text": "b"}, r'{@,"\u0054ext":"b"}': UNSURE, r'{@,"\u007a":1}': {},
        r'{"text":"\u0062","s":"\u0063","at":"1970-01-01T00:00:00Z","i":1}': {"text": "b", "s": "c"},
        r'{@,"text":"\u0032013-01-31T22:00:00","local":"\u0032"}': REFUSED,
        r'{@,"text":"\u0032013-01-31T22:00:00","local":"\u0032013-01-31T22:00:0"}': REFUSED,
        r'{@,"text":"\u0031970-01-01T00:00:00.55","local":"\u0031970-01-01T00:00:00.5"}':
            {"text": "1970-01-01T00:00:00.55", "local": 500_000},
        '{@,"\N{KELVIN SIGN}":1}': UNSURE, '{@,"a\N{KELVIN SIGN}":1}': UNSURE, '{@,"\N{KELVIN SIGN}a":1}': UNSURE,
        '{@,"\N{ANGSTROM SIGN}":1,"\u20aa":1,"\u20ea":1,"\u216a":1,"\u112a":1,"\u312a":1,"\u2129":1}': {},
        '{@,"z":"\N{KELVIN SIGN}"}': {},
        **{'{@,"z":' + value + "}": fate for value, fate in BEHIND.items()},
        **dict.fromkeys(CUT, REFUSED),
        " \t\r\n{ @ } \t\r\n": {},
        **{chr(n) + "{@}": REFUSED for n in (0x08, 0x0B, 0x0C, 0x0E, 0x1F, 0x21, 0)},
        **{"{@}" + chr(n): REFUSED for n in (0x08, 0x0B, 0x0C, 0x0E, 0x1F, 0x21, 0)},
        "{@}}": REFUSED, "{@}{@}": REFUSED, "[{@}]": REFUSED, "null": REFUSED, "1": REFUSED, '"x"': REFUSED,
        "": REFUSED, " ": REFUSED, "{}": REFUSED, "{@,}": REFUSED, "{,@}": REFUSED, '{@ "z":1}': REFUSED,
        "{@,1}": REFUSED, '{@,"z"}': REFUSED, '{@,"z",1}': REFUSED, "{@,z:1}": REFUSED, "{@]": REFUSED,
        '{@,"z":"\ud800"}': REFUSED, b'{@,"z":"\xff"}': REFUSED, b'{@,"z\xff":1}': REFUSED,
        b'{@,"z":"\xc0\x80"}': REFUSED, b'{@,"z":"\xc3"}': REFUSED, b"\xef\xbb\xbf{@}": REFUSED, b"\xff{@}": REFUSED,
        b'{@,"z":"\xf4\x90\x80\x80"}': REFUSED, b'{@,"text":"\xff"}': REFUSED, None: REFUSED,
    },
    FORMATTED.name: {"{@}": {}, "": REFUSED, '{@,"cost":"1","cost":"2"}': {"cost": Decimal(2)}},
    NESTED.name: {
        '{@,"meta":{"optional":{"n":5}},"meta":{"at":"1970-01-01T00:00:00Z"}}': UNSURE,
        '{@,"user":{"amount":2},"user":{"amount":3}}': {"amount": Decimal(3)},
        '{@,"user":{"amount":2,"name":{"first":"x"}},"user":{"amount":3}}': {"amount": Decimal(3)},
        '{@,"meta":{"at":"1970-01-01T00:00:00Z","optional":{"n":5}},"meta":{"at":"1970-01-01T00:00:00Z"}}': {},
        '{@,"meta":{"at":"1970-01-01T00:00:00Z","optional":{"n":5}},'
        '"meta":{"at":"1970-01-01T00:00:00Z","optional":{}}}': {},
        '{@,"meta":{"at":"1970-01-01T00:00:00Z","optional":{"n":5}},'
        '"meta":{"at":"1970-01-01T00:00:00Z","OPTIONAL":{}}}': UNSURE,
        '{@,"meta":{"at":"1970-01-01T00:00:00Z","optional":{"n":5}},'
        '"meta":{"at":"1970-01-01T00:00:00Z","optional":{"N":1}}}': UNSURE,
        '{@,"meta":{}}': UNSURE, '{@,"meta":null}': UNSURE,
        '{@,"route":["b"]}': {"origin": "b"}, '{@,"route":[]}': REFUSED, '{@,"route":["b"],"route":[1]}': UNSURE,
        '{@,"x":{"stops":[1,null,5]},"x":{}}': {}, '{@,"x":{"stops":[1,null,5]},"x":{"stops":[]}}': {},
        '{@,"x":{"stops":[1,null,5]}}': {"gate": 5}, "{@}": {},
        '{@,"x":{"stops":[1,null,5]},"x":null}': {}, '{@,"x":{"stops":[1,null,6]},"y":[]}': {"gate": 6},
        '{"x":{"stops":[1,null,5]},@}': {"gate": 5}, '{"user":{"amount":2}}': REFUSED,
    },
    EDGES.name: {"{@}": {}},
}  # fmt: skip
"""Topic -> a record, in which @ is the members of the good one -> its values beside them."""


def table(topic: str) -> Iterator[tuple[bytes | None, Any]]:
    """Each record of a topic, and REFUSED, UNSURE or its values by the names of their fields."""
    members = ",".join(f'"{key}":{text}' for key, text in BASE[topic].items())
    for given, fate in RECORDS[topic].items():
        value = given.encode("utf-8", "surrogatepass") if isinstance(given, str) else given
        whole = value and value.replace(b"@", members.encode())
        yield whole, fate if fate in (REFUSED, UNSURE) else ROW[topic] | fate
    for key, texts in MEMBERS[topic].items():
        for text, fate in texts.items():
            record = ",".join(f'"{k}":{t}' for k, t in (BASE[topic] | {key: text}).items())
            row = fate if isinstance(fate, dict) else {key: fate}
            yield f"{{{record}}}".encode(), fate if fate in (REFUSED, UNSURE) else ROW[topic] | row
