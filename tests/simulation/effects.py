"""Effects: what appears below a root, in its order, whoever writes it: Python, delta-rs or Spark."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.simulation.places import acting

LOG = "_delta_log"


class Effects:
    """Of one thread: before each of its writes, and at its end, it looks at what is new."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seen = self._there()
        self.told: list[str] = []

    @contextmanager
    def watched(self) -> Iterator[None]:
        with acting(self._look):
            yield
        self._look("")

    def _look(self, _: str) -> bool:
        now = self._there()
        new = sorted((at, path) for path, at in now.items() if self.seen.get(path) != at)
        self.told += [self._name(path) for _, path in new]
        self.told += [f"no {path.name}" for path in self.seen if path not in now]
        self.seen = now
        return False

    def _there(self) -> dict[Path, int]:
        """File -> when it was written: of notes, and of the logs of Spark and of Delta."""
        found = {}
        for path in self.root.rglob("*"):
            inside = path.relative_to(self.root).parts
            if path.name.startswith(".") or "state" in inside or "reports" in inside:
                continue
            if path.parent.name in {"offsets", "commits"} or path.suffix == ".json":
                found[path] = path.stat().st_mtime_ns
        return {path: at for path, at in found.items() if path.is_file()}

    def _name(self, path: Path) -> str:
        inside = path.relative_to(self.root).parts
        if LOG not in inside:
            return (
                "/".join(inside[-2:]) if path.parent.name in {"offsets", "commits"} else path.name
            )
        if inside[0] == "ops":
            return f"ops/{inside[1]}"
        actions = [json.loads(line) for line in path.read_text().splitlines()]
        return f"table {_condition(actions)}".strip()


def _condition(actions: list[dict[str, Any]]) -> str:
    """On what a commit of a batch depends, and what it says of itself."""
    marks = [each["txn"] for each in actions if "txn" in each]
    if not marks:
        return ""
    [about] = [each["commitInfo"] for each in actions if "commitInfo" in each]
    said = json.loads(about.get("userMetadata") or about["operationParameters"]["userMetadata"])
    owned = {each["appId"] for each in marks} == {said["sluice"]}
    return f"{marks[0]['version']} if new, owned {owned}, says {sorted(said)}"
