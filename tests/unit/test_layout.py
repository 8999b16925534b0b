"""Tables in terminals of any width: no line is too long, and no letter of a value is lost."""

from typing import Any

from hypothesis import given, strategies as st
from rich.cells import cell_len

from spark_jobs.cli.layout import GAP, NEEDED, Column, fold, lay_out

TEXT = st.text(st.sampled_from("ab1,.-   \\日é\u0301👍🏽"), max_size=90)
WIDTHS = st.integers(2, 130)


@st.composite
def tables(draw: st.DrawFn) -> list[Column]:
    """One to nine columns of up to four rows."""
    rows, count = draw(st.integers(0, 4)), draw(st.integers(1, 9))
    columns = []
    for place in range(count):
        number = draw(st.booleans())
        values = st.integers(-(10**9), 10**15).map("{:,}".format) if number else TEXT
        texts = tuple(draw(st.lists(values, min_size=rows, max_size=rows)))
        columns.append(
            Column(f"{draw(st.sampled_from(('n', 'name', 'a_longer_name')))}{place}", texts, number)
        )
    return columns


def squeezed(text: str) -> str:
    return "".join(text.split())


@given(tables(), WIDTHS, st.booleans())
def test_no_line_is_wider_than_the_terminal(columns, width, chosen):
    assert all(cell_len(line) <= width for line in lay_out(columns, width, chosen=chosen).lines)


@given(tables(), WIDTHS, st.booleans())
def test_each_column_is_shown_or_named_as_left_out(columns, width, chosen):
    layout = lay_out(columns, width, chosen=chosen)
    text = squeezed("".join(layout.lines))
    shown = [c for c in columns if c.name not in layout.left_out]
    assert not (chosen and layout.left_out)
    assert all(column.name in text for column in shown if column.texts)
    assert columns[:NEEDED] == shown[:NEEDED]


@given(tables(), WIDTHS, st.booleans())
def test_no_letter_of_a_shown_value_is_lost(columns, width, chosen):
    layout = lay_out(columns, width, chosen=chosen)
    shown = [c for c in columns if c.name not in layout.left_out]
    wanted = squeezed("".join(text for column in shown for text in column.texts))
    lines = squeezed("".join(layout.lines)).replace("─", "")
    assert not [letter for letter in set(wanted) if lines.count(letter) < wanted.count(letter)]


@given(tables())
def test_without_a_width_each_row_is_one_line(columns):
    layout = lay_out(columns, None, chosen=False)
    assert len(layout.lines) == 2 + len(columns[0].texts)
    assert layout.left_out == ()
    for row, line in enumerate(layout.lines[2:]):
        assert all(column.texts[row].rstrip() in line for column in columns)


@given(TEXT, WIDTHS)
def test_folded_lines_fit_and_take_the_place_of_one_space_each_at_most(text, width):
    lines = list(fold(text, width))
    assert all(cell_len(line) <= width for line in lines)
    assert squeezed("".join(lines)) == squeezed(text)
    assert len(text) - len(lines) <= sum(map(len, lines)) <= len(text)


def test_a_text_is_folded_between_words_where_it_can():
    assert list(fold("got `str` at `$.dep_delay`", 12)) == ["got `str` at", "`$.dep_delay", "`"]


def test_numbers_stand_on_the_right_and_text_on_the_left():
    columns = [
        Column("pipeline", ("a", "flight_events")),
        Column("read", ("7", "35,142"), number=True),
    ]
    assert lay_out(columns, 80, chosen=False).lines == [
        "pipeline         read",
        "─" * 13 + " " * GAP + "─" * 6,
        "a                   7",
        "flight_events  35,142",
    ]


def test_a_narrow_column_has_the_room_that_a_more_important_one_is_too_wide_for():
    columns = [
        Column(name, ("1" * width,), number=True)
        for name, width in (("a", 5), ("b", 5), ("c", 5), ("d", 30), ("e", 9))
    ]
    layout = lay_out(columns, 30, chosen=False)
    assert layout.left_out == ("d",)
    assert layout.lines[0].split() == ["a", "b", "c", "e"]


def test_chosen_columns_that_do_not_fit_side_by_side_stand_on_end():
    columns: list[Any] = [Column(f"column_{place}", ("x" * 20, "y" * 50)) for place in range(3)]
    assert lay_out(columns, 60, chosen=True).lines == [
        *(f"column_{place}  {'x' * 20}" for place in range(3)),
        "",
        *(line for place in range(3) for line in (f"column_{place}  {'y' * 50}",)),
    ]
    below = lay_out(columns[:1], 10, chosen=True).lines
    assert below == ["column_0", "x" * 10, "x" * 10, "", "column_0", *["y" * 10] * 5]
