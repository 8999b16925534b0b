"""The measures of a tree, on a small one whose figures a person can count."""

import json

import pytest

from local.measures import Figure, figures, main

TREE = {
    "spark_jobs/__init__.py": "",
    "spark_jobs/log.py": '"""Log."""\n',
    "spark_jobs/runs/__init__.py": '"""Runs."""\n',
    "spark_jobs/runs/drain.py": (
        "from __future__ import annotations\n"
        "import json\n"
        "from typing import TYPE_CHECKING\n"
        "from spark_jobs import log\n"
        "from spark_jobs.spec import Named\n"
        "from spark_jobs.sink.table import (\n    ensure,\n    other,\n)\n"
        "if TYPE_CHECKING:\n    from spark_jobs.repair.typed import Typed\n"
        "def drain() -> None:\n    from spark_jobs.late import inner\n    ensure(spec.topic)\n"
    ),
    "spark_jobs/late.py": "import deltalake\n",
    "spark_jobs/sink/table.py": (
        "def ensure(step):\n"
        '    """Long.\n\n    Longer.\n    """\n'
        "    if isinstance(step, Aggregate):\n        return _one(step)\n    return _two(_two(step))\n"
        "def _one(step):\n    match step:\n        case History():\n            return 1\n"
        "def _two(step):\n    return step\n"
        "def _large(step):\n" + "    step()\n" * 7 + "def calls():\n    return _large(1)\n"
    ),
    "spark_jobs/spec/__init__.py": (
        "if TYPE_CHECKING:\n    from spark_jobs.spec.named import Named as Named\n"
        "    from spark_jobs.spec.other import Other as Other\n"
    ),
    "spark_jobs/spec/named.py": "Named = 1\n",
    "spark_jobs/spec/other.py": "Other = 2\n",
    "spark_jobs/repair/typed.py": "from spark_jobs import late as Typed, log\n",
    "spark_jobs/repair/table.py": "",
    "spark_jobs/spec/steps/aggregate.py": "isinstance(step, Aggregate)\n",
    "plugins/dags.py": "isinstance(step := spec.keyed, Latest)\nspec.topic\nends.by_partition\n",
    "plugins/pages.py": (
        'step.kind in {"latest", "history"}\nschema.kind == "AVRO"\nisinstance(\n  it, (str, Keyed)\n)\n'
    ),
    "tests/unit/test_it.py": "1\n2\n",
}
COUNTED = {
    "lines of spark_jobs": 48,
    "files of spark_jobs": 12,
    "lines of tests": 2,
    "files of tests": 1,
    "lines that a drain reaches": 44,  # drain, log, late, sink/table, the door of spec, and named
    "files that a drain reaches": 6,
    "questions for a step's class": 5,
    "files that ask for a step's class": 3,
    "files that name Delta": 1,
    "files that read spec.topic": 2,
    "files that look into positions": 1,
    "most rooms that a room imports": 2,  # of repair, which the runs need: late, log
    "rooms that import more than eight": 0,
    "most rooms that a command imports": 5,  # of runs: log, sink, spec, repair, late
    "most imports of a file": 5,
    "basenames of several files": 2,
    "small functions with one caller": 2,  # ensure and _one
}


@pytest.fixture
def tree(tmp_path):
    for name, text in TREE.items():
        (path := tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path


def test_each_figure_is_what_a_person_counts(tree):
    found = figures(tree)
    assert {name: figure.value for name, figure in found.items()} == COUNTED
    assert found["most rooms that a command imports"] == Figure(5, "runs")
    assert found["most imports of a file"] == Figure(5, "spark_jobs/runs/drain.py")


def test_a_figure_that_grows_fails_until_it_is_kept_and_one_that_falls_does_not(tree, capsys):
    kept = tree / "measures.json"
    with pytest.raises(SystemExit, match="lines of spark_jobs"):
        main(tree, kept, keep=False)  # nothing is kept yet
    main(tree, kept, keep=True)
    bounds = COUNTED | {name: 100 for name in COUNTED if name.startswith("lines")}
    assert json.loads(kept.read_text()) == bounds
    (tree / "spark_jobs/more.py").write_text("isinstance(step, Transform)\n")
    with pytest.raises(SystemExit) as grown:
        main(tree, kept, keep=False)
    assert "questions for a step's class" in str(grown.value)
    assert "files that name Delta" not in str(grown.value)
    assert json.loads(kept.read_text()) == bounds
    main(tree, kept, keep=True)
    (tree / "spark_jobs/more.py").unlink()
    main(tree, kept, keep=False)
    assert "kept: 13" in capsys.readouterr().out.splitlines()[-16]
