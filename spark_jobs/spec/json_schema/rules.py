"""Rules: what JSON Schema says of values, as rules of a field, and back. A pattern is one of
ECMA-262 there, and one of Python here.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Final

from spark_jobs.spec.json_schema.document import refuse
from spark_jobs.values import type_tree

if TYPE_CHECKING:
    from spark_jobs.spec.fields.field import Field
    from spark_jobs.spec.json_schema.document import Part, Schema

SPACES: Final = r"\t\n\x0b\f\r \xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff"
SETS: Final = {"d": "0-9", "w": "A-Za-z0-9_", "s": SPACES}
"""Letter of an escape -> what ECMA means by it. Python means letters and digits of every script."""
LINE_ENDS: Final = r"\n\r\u2028\u2029"
SAME: Final = "fnrtvxu"
"""Letters that mean the same in both after a backslash; so do digits and signs."""
ANY: Final = "(?s:.*)"
_TOKEN: Final = re.compile(r"\(\?s:\.(?:\*|\{[0-9,]+\})\)|\\.|\{,\d*\}|\[\^?\]?|.", re.DOTALL)
_WHOLE: Final = re.compile(r"\^\(\?:(.*)\)\$", re.DOTALL)


def whole(pattern: str) -> str:
    r"""What matches a whole text in which the pattern is found.

    >>> whole("^[a-z]+$"), whole("^a|b"), whole(r"\db$")
    ('[a-z]+', '(?s:.*)(?:^a|b)(?s:.*)', '(?s:.*)[0-9]b')

    Raises ValueError (re.error too): what of it Python cannot say.
    """
    if (given := _WHOLE.fullmatch(pattern)) and _compiles(given[1]):
        return of_python(given[1])
    if "|" in pattern:
        return f"{ANY}(?:{of_python(pattern)}){ANY}"
    begins, ends = pattern.startswith("^"), re.search(r"(?<!\\)(\\\\)*\$\Z", pattern)
    inner = of_python(pattern[begins : len(pattern) - bool(ends)])
    return ("" if begins else ANY) + inner + ("" if ends else ANY)


def of_python(pattern: str) -> str:
    r"""The pattern that finds the same.

    >>> of_python(r"^(a|b)$"), of_python(r"[\d.$]-\w")
    ('^(a|b)\\Z', '[0-9.$]-[A-Za-z0-9_]')
    """
    found, within = list[str](), False
    for token in _TOKEN.findall(pattern):
        if within and token.startswith("["):  # no class begins in a class
            within = not token.endswith("]")
            found.append(token.replace("[", r"\["))
        elif token in ("[]", "[^]"):
            raise ValueError(f"{token} has nothing in it, or everything")
        elif not within and token.startswith("{,"):
            raise ValueError(f"{token} is a repeat in Python alone")
        elif token.startswith("\\"):
            found.append(_escape(token, within=within, after=_is_range(found)))
        elif token == "-" and within and found[-1] in SETS.values():
            found.append(r"\-")
        elif within:
            within = token != "]"
            found.append(token)
        else:
            within = token.startswith("[")
            found.append({"$": r"\Z", ".": f"[^{LINE_ENDS}]"}.get(token, token))
    return "".join(found)


def _is_range(found: list[str]) -> bool:
    """Whether a range of letters has begun, and has no end yet."""
    return found[-1:] == ["-"] and found[-2:-1] not in (["["], ["[^"])


def _escape(token: str, *, within: bool, after: bool) -> str:
    letter = token[1:]
    if letter in SETS:
        if within and after:
            raise ValueError(f"-{token} ends no range")
        return SETS[letter] if within else f"[{SETS[letter]}]"
    if letter.lower() in SETS and not within:
        return f"[^{SETS[letter.lower()]}]"
    if letter in ("b", "B") and not within:
        return f"(?a:{token})"
    if letter.isascii() and letter.isalpha() and letter not in SAME + "b" * within:
        raise ValueError(f"{token} is another thing in Python")
    return token


def _compiles(pattern: str) -> bool:
    try:
        re.compile(pattern)
    except re.error:
        return False
    return True


BITS: Final = {"smallint": 16, "int": 32, "bigint": 64}
UUID: Final = "[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
MOST: Final = 3.4028234663852886e38
"""The largest number of 32 bits."""
Rules = dict[str, Any]


def rules_of(part: Part, kind: str) -> Rules:
    """Attributes of Field, for a type without parts."""
    found, held = _one_of(part, kind), held_by(kind, part.schema)
    if "pattern" in held:
        found |= _pattern(part)
    if "minimum" in held:
        found |= _range(part, kind)
    return found


def held_by(kind: str, schema: Schema) -> frozenset[str]:
    """The keywords that rules of a field of this type hold, and the type itself."""
    if kind == "string":
        return frozenset(("enum", "pattern", "minLength", "maxLength", "format"))
    if kind in (*BITS, "float", "double") or kind.startswith("decimal"):
        edges = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
        more = "enum" if kind in BITS else "multipleOf" if _is_step(kind, schema) else ""
        return frozenset((*edges, more))
    return frozenset(("enum",)) if kind == "boolean" else frozenset()


def _is_step(kind: str, schema: Schema) -> bool:
    """Whether each value of a decimal is a multiple of multipleOf."""
    step: Any = schema.get("multipleOf")
    tree = type_tree.parsed(kind)
    if type(step) not in (int, float) or not isinstance(tree, type_tree.Decimal):
        return False
    return bool(step > 0) and (Fraction(1, 10**tree.scale) / Fraction(str(step))).denominator == 1


def _one_of(part: Part, kind: str) -> Rules:
    values = part.schema.get("enum")
    if not values or "enum" not in held_by(kind, part.schema):
        return {}
    if kind == "boolean" and {*values} == {True, False}:
        return {}
    wanted = str if kind == "string" else int
    if kind not in ("string", *BITS) or any(type(each) is not wanted for each in values):
        refuse(part.under("enum"), f"has values that are no {kind}", "Name texts, or whole numbers")
    return {"one_of": tuple(values)}


def _pattern(part: Part) -> Rules:
    """JSON Schema looks for a pattern anywhere in the text; a field's matches the whole of it."""
    schema, found = part.schema, list[str]()
    try:
        if "pattern" in part.own:  # Python's own, for what ECMA writes otherwise
            found += filter(None, [part.own["pattern"]])
        elif "pattern" in schema:
            found.append(whole(schema["pattern"]))
        least, most = _length(part, "minLength"), _length(part, "maxLength")
        if least or most is not None:
            found.append(f"(?s:.{{{least or 0},{'' if most is None else most}}})")
        if schema.get("format") == "uuid":
            found.append(UUID)
        if not found:
            return {}
        *others, last = found
        pattern = "".join(rf"(?={each}\Z)" for each in others) + last
        re.compile(pattern)
    except (ValueError, re.error) as wrong:
        refuse(part.under("pattern"), f"is no pattern of Python: {wrong}", "Write it otherwise")
    return {"pattern": pattern}


def _length(part: Part, key: str) -> int | None:
    """A number of letters; None without one."""
    value: Any = part.schema.get(key)
    whole_number = type(value) is int or (type(value) is float and value.is_integer())
    if key in part.schema and not (whole_number and value >= 0):
        refuse(part.under(key), f"is {value!r}", "Write a whole number of letters")
    return None if value is None else int(value)


def _range(part: Part, kind: str) -> Rules:
    """The smallest and the largest value; none where the type has no smaller or larger one."""
    low, high = limits(kind)
    found = Rules()
    for name, edge, open_edge, sign, own in (
        ("at_least", "minimum", "exclusiveMinimum", 1, low),
        ("at_most", "maximum", "exclusiveMaximum", -1, high),
    ):
        given = [_number(part, key, kind, sign) for key in (edge, open_edge) if key in part.schema]
        limit = (max(given) if sign > 0 else min(given)) if given else None
        if limit is not None and (own is None or sign * Fraction(limit) > sign * own):
            found[name] = _plain(limit)
    return found


def _plain(limit: float | Fraction) -> int | float | str:
    if not isinstance(limit, Fraction):
        return limit
    # What is within a decimal ends in so many digits.
    return (
        int(limit)
        if limit.denominator == 1
        else f"{Decimal(limit.numerator) / limit.denominator:f}"
    )


def _number(part: Part, key: str, kind: str, sign: int) -> float | Fraction:
    """A limit as the first value within it."""
    value = part.schema[key]
    if isinstance(value, bool) or not isinstance(value, int | float):
        refuse(part.under(key), "is no number, as draft 4 had it", "Write the number there")
    if abs(value) > sys.float_info.max and not (kind in BITS and isinstance(value, int)):
        refuse(part.under(key), "is beyond all numbers", "Leave it out")
    beyond = key.startswith("exclusive")
    if kind in BITS:
        within = math.ceil(value) if sign > 0 else math.floor(value)
        return within + sign if beyond and within == value else within
    if not beyond:
        return value
    if isinstance(tree := type_tree.parsed(kind), type_tree.Decimal):
        step = Fraction(1, 10**tree.scale)
        return Fraction(str(value)) + sign * step
    return _beyond(value, sign) if kind == "float" else math.nextafter(value, sign * math.inf)


def _beyond(value: float, sign: int) -> float:
    """The next number of 32 bits: a float's limit is compared as a float."""
    if abs(value) > MOST:
        return math.nextafter(value, sign * math.inf)
    [near] = struct.unpack("<f", struct.pack("<f", value))
    if sign * (near - value) > 0:
        return float(near)
    [bits] = struct.unpack("<i", struct.pack("<f", near or 0.0))
    bits = bits + (sign if near > 0 else -sign) if near else 1
    [beyond] = struct.unpack("<f", struct.pack("<i", bits))
    return float(beyond if near else sign * beyond)


def limits(kind: str) -> tuple[Fraction | None, Fraction | None]:
    """The smallest and the largest value of a type; None if there is none."""
    if kind in BITS:
        half = 1 << (BITS[kind] - 1)
        return Fraction(-half), Fraction(half - 1)
    tree = type_tree.parsed(kind)
    if isinstance(tree, type_tree.Decimal):
        most = 10 ** (tree.precision - tree.scale) - Fraction(1, 10**tree.scale)
        return -most, most
    return None, None


def with_rules(field: Field) -> Schema:
    """The keywords of a field's rules, and of what its type is limited to."""
    if field.format is not None:
        return {}  # rules are of the value, and the schema of how it is written
    found: Schema = {"enum": [*field.one_of]} if field.one_of else {}
    if field.pattern is not None:
        found["pattern"] = f"^(?:{field.pattern})$"
    if field.kind in (*BITS, "float", "double", "decimal"):
        found |= _edges(field)
    return found


def _edges(field: Field) -> Schema:
    found: Schema = {}
    low, high = limits(field.type)
    for name, key, rule, own in (
        ("minimum", "exclusiveMinimum", field.at_least, low),
        ("maximum", "exclusiveMaximum", field.at_most, high),
    ):
        if rule is not None:
            number = float(rule) if field.kind in ("float", "double") else Fraction(str(rule))
            found[name] = int(number) if number == int(number) else float(number)
        elif own is not None and own.denominator == 1:
            found[name] = int(own)
        elif own is not None:  # of a decimal: what is one step beyond is a whole number
            found[key] = round(own)
    return found
