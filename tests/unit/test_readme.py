"""The README is what a newcomer trusts, so its example and its commands are held to the code."""

import re
from pathlib import Path

from spark_jobs.contract.settings import REPO
from spark_jobs.contract.spec import Pipeline

README = (REPO / "README.md").read_text()


def test_the_example_of_a_new_pipeline_is_a_valid_spec():
    [example] = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    names: dict[str, object] = {}
    exec(example, names)
    spec = names["SPEC"]
    assert isinstance(spec, Pipeline)
    assert f"sluice validate {spec.name}" in README


def test_every_make_target_that_the_documents_name_exists():
    targets = set(re.findall(r"^([a-z]+):", (REPO / "Makefile").read_text(), re.MULTILINE))
    documents = README + (REPO / "CONTRIBUTING.md").read_text()
    named = set(re.findall(r"(?:`|^)make ([a-z]+)", documents, re.MULTILINE))
    assert {"demo", "test"} <= named
    assert named <= targets


def test_every_path_in_the_layout_exists():
    layout = README.split("## Layout")[1].split("```")[1]
    folder = Path()
    for line in layout.strip().splitlines():
        name = line.split()[0]
        folder = folder if line.startswith(" ") else Path(name)
        path = REPO / (folder / name if line.startswith(" ") else name)
        assert path.is_dir(), path
