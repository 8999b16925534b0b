"""What browsers get comes by a lock: named, pinned, with a checksum, of no one registry."""

import json

from local import npm


def test_every_package_of_npm_has_a_checksum_and_no_address():
    lock = json.loads((npm.LOCKED / "package-lock.json").read_text())
    asked = json.loads((npm.LOCKED / "package.json").read_text())
    packages = {name: each for name, each in lock["packages"].items() if name}
    assert {"node_modules/uplot", "node_modules/axe-core"} <= packages.keys()
    for name, each in packages.items():
        assert each["integrity"].startswith("sha512-"), name
        assert "resolved" not in each, "a registry is the machine's affair"
    exact = asked["dependencies"] | asked["devDependencies"]
    assert {name: packages[f"node_modules/{name}"]["version"] for name in exact} == exact


def test_without_npm_it_comes_by_pip_with_checksums():
    """Taken up where the machine has none."""
    text = (npm.LOCKED / "node.txt").read_text()
    assert text.count("==") == 1
    assert text.count("--hash=sha256:") >= 4, "for each kind of machine"
