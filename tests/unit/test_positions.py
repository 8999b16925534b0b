"""Positions against plain sets of places."""

from hypothesis import given, strategies as st
from pydantic import BaseModel, ConfigDict

from spark_jobs.source.place import Place
from spark_jobs.source.positions import Parts, Positions

PARTITIONS = (0, 1, 65536)
MOST = 12
positions = st.dictionaries(st.sampled_from(PARTITIONS), st.integers(0, MOST)).map(Positions)


def places(parts: Parts) -> set[Place]:
    return {
        Place(partition, offset)
        for partition, ranges in parts.items()
        for first, stop in ranges
        for offset in range(first, stop)
    }


def passed(of: Positions) -> set[Place]:
    every = (Place(partition, offset) for partition in PARTITIONS for offset in range(MOST + 1))
    return {place for place in every if of.passed(place)}


@given(positions, positions)
def test_what_is_between_two_positions_is_what_one_has_passed_and_the_other_has_not(one, two):
    between = passed(two) - passed(one)
    assert places(one.parts(two)) == between
    assert (one.count(two), one.before(two)) == (len(between), bool(between))
    assert passed(one.maximum(two)) == passed(one) | passed(two)
    common = one.among(two), two.among(one)
    assert passed(common[0].minimum(common[1])) == passed(common[0]) & passed(common[1])
    parts = Positions().parts(two)
    assert places(one.cut(parts)) == passed(one) & passed(two)
    assert places(one.rest(parts)) == between


@given(positions, positions, st.integers(1, 5))
def test_shares_of_the_way_are_all_of_it_each_place_once(one, two, of):
    end = one.maximum(two)
    cuts = [one.share(end, n, of) for n in range(of + 1)]
    shares = [places(cuts[n].parts(cuts[n + 1])) for n in range(of)]
    assert sum(map(len, shares)) == len(set[Place]().union(*shares)) == one.count(end)


@given(positions)
def test_inputs_json_and_notes_give_the_same_positions_back(made):
    inputs = made.of_inputs()
    assert Positions.of_all(inputs.values(), inputs) == made
    assert Positions.of_json(made.json) == Positions.of_named(made.named) == made
    note = Note(ends=made)
    assert Note.model_validate_json(note.model_dump_json()) == note
    assert hash(note.ends) == hash(Positions(dict(made.by_partition)))


class Note(BaseModel):
    model_config = ConfigDict(frozen=True)

    ends: Positions


def test_a_note_has_the_offsets_of_partitions_as_notes_of_before_had_them():
    text = '{"ends":{"0":5,"65536":7}}'
    assert Note(ends=Positions({0: 5, 65536: 7})).model_dump_json() == text
    assert Note.model_validate_json(text).ends.json == '{"0": 5, "65536": 7}'
