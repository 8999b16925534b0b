"""Makes the roots of 08a652d.tar.xz by the code of that commit, the last one without a journal. In
a work tree of it, with the packages that it locks:

    PYTHONPATH=.:plugins python <this file> FOLDER && tar -C FOLDER -cJf 08a652d.tar.xz .

What Spark wrote then is stood in for by that commit's own tests; all else is its product.
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spark_jobs.admin.rewind import rewind
from spark_jobs.ops import repairs
from spark_jobs.storage import failpoint
from tests.unit.repaired import SPEC, Changes, Root, row
from tests.unit.test_switch import Rebuilt

CHANGES: dict[str, Changes] = {
    "r1": [(row(1, "a"), row(1, "a", 2)), (None, row(1, "d"))],
    "r2": [(row(3, "b"), row(3, "b", 9))],
}


def staged(folder: Path) -> Root:
    """Batches 0 to 5 have passed, r1 is in the table, and r2 was staged."""
    root = Root(folder)
    root.drain(0, 5)
    known = {"pipeline": SPEC.name, "generation": "g1", "kind": "repair", "horizon": '{"0": 6}'}
    for name, changes in CHANGES.items():
        root.stage(name, changes)
        told = {"repair_id": name, "state": "staged", "staged_at": datetime.now(UTC)}
        repairs.put(root.paths.root, [known | told])
        if name == "r1":
            root.swap(name)
    return root


def killed(place: str, act: Callable[[], object]) -> None:
    failpoint.ACTIVE[place] = "raise"
    with pytest.raises(failpoint.Failure):
        act()
    failpoint.ACTIVE.clear()


def main(into: Path) -> None:
    staged(into / "staged")
    swapped, undone, rewound = (staged(into / each) for each in ("swapped", "undone", "rewinding"))
    killed("swap.committed", lambda: swapped.swap("r2"))
    killed("swap.committed", lambda: undone.undo("r1"))
    back = rewind(SPEC, rewound.settings, 3).execute
    assert back is not None
    killed("rewinding", back)
    Rebuilt(into / "switched").switch()
    killed("switching", Rebuilt(into / "switching").switch)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
