"""Where the commits of the published table end, for commits of a pipeline's table whose files are letters."""

import json
from typing import Any

import pytest

from spark_jobs.table.published.parts import next_part

Action = dict[str, Any]


def commit(added: str = "", removed: str = "", *, data: bool = True, **said: Any) -> list[Action]:
    """Of files with these letters as paths; a digit behind one is its deletion vector."""

    def file(name: str) -> Action:
        vector = {"storageType": "i", "pathOrInlineDv": name[1:]} if name[1:] else None
        return {"path": name[0], "dataChange": data, "deletionVector": vector}

    return [
        {"commitInfo": {"userMetadata": json.dumps(said)}},
        *({"remove": file(name)} for name in removed.split()),
        *({"add": file(name)} for name in added.split()),
    ]


@pytest.mark.parametrize(
    ("commits", "ends"),
    {
        "appends are one": ([commit("a"), commit("b")], [2]),
        "a commit without files goes with appends": ([commit("a"), commit(), commit("b")], [3]),
        "each change of rows is one": ([commit("b", "S"), commit("c", "T")], [1, 2]),
        "a vector over a new file": ([commit("a"), commit("a1", "a"), commit("b")], [3]),
        "a vector over a shown file": ([commit("a"), commit("S1", "S")], [1, 2]),
        "a vector over a vector": ([commit("a"), commit("S1", "S"), commit("S2", "S1")], [1, 3]),
        "an append amid mends of one shown file": (
            [commit("b", "S"), commit("a"), commit("c", "b")],
            [(0, 2), 3],
        ),
        "an append with a column of its own amid mends of one shown file": (
            [commit("b", "S"), [*commit("a"), {"metaData": {}}], commit("c", "b")],
            [3],
        ),
        "an append amid mends that is taken out": (
            [commit("b", "S"), commit("a"), commit("c", "b"), commit(removed="a")],
            [4],
        ),
        "a mended append amid mends of shown files": (
            [commit("a"), commit("b", "S"), commit("d"), commit("c", "b"), commit("e", "a")],
            [(0, 1, 3, 5), 5],
        ),
        "an OPTIMIZE of new and shown": (
            [commit("a"), commit("b"), commit("y", "a b S", data=False)],
            [2, 3],
        ),
        "what an OPTIMIZE has moved and a person mends": (
            [commit("a"), commit("b"), commit("y", "a", data=False), commit("z", "y")],
            [4],
        ),
        "what a second OPTIMIZE has moved and a person mends": (
            [
                commit("a"),
                commit("y", "a", data=False),
                commit("z", "y", data=False),
                commit("x", "z"),
            ],
            [4],
        ),
        "what an OPTIMIZE has moved and a repair replaces": (
            [commit("a"), commit("y", "a S", data=False), commit("z", "y", sluice_passed=2)],
            [1, 2, 3],
        ),
        "a repair of what had not passed": (
            [commit("a"), commit("z", "a S", sluice_passed=0)],
            [2],
        ),
        "a repair of some that had passed and some that had not": (
            [commit("a"), commit("b"), commit("z", "a b S", sluice_passed=1)],
            [1, 3],
        ),
        "a repair that a person mends": (
            [commit("a"), commit("z", "a S", sluice_passed=1), commit("x", "z")],
            [1, 3],
        ),
        "an undo that only adds rows": (
            [
                commit("a"),
                commit(removed="a", sluice_repair="r", sluice_passed=1),
                commit("b", sluice_repair="r.undo", sluice_passed=2),
                commit("c"),
            ],
            [1, 2, 3, 4],
        ),
        "a repair that only adds rows amid mends of one shown file": (
            [commit("b", "S"), commit("a", sluice_repair="r"), commit("d"), commit("c", "b")],
            [(0, 3), 4],
        ),
        "what goes and comes back": ([commit(removed="S"), commit("a"), commit("S")], [3]),
        "an OPTIMIZE that a RESTORE takes back": (
            [commit("y", "S", data=False), commit("S", "y"), commit("a")],
            [3],
        ),
        "new statistics of a file that a person mends": (
            [commit("a"), commit("a", data=False), commit("b", "a S")],
            [3],
        ),
        "words of a person that are no notes": (
            [commit("a"), commit("b", "a S", sluice_passed="x")],
            [2],
        ),
    }.values(),
)
def test_parts_end_where(commits, ends):
    read = dict(enumerate(commits, 1)).__getitem__
    made, found = next_part(read, 0, (), len(commits)), []
    while found[-1:] != [len(commits)]:
        found.append((made.version, *made.ahead) if made.ahead else made.version)
        made = next_part(read, made.version, made.ahead, len(commits))
    assert found == ends
