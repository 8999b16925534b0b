"""Great Expectations as a run imports it, against the same as its guide does."""

import json
import subprocess
import sys

from tests.harness import every_expectation
from tests.harness.every_expectation import EVERY


def test_every_expectation_finds_the_same_as_with_all_that_the_package_imports():
    """All fields of its results, and the text of what could not be evaluated. On Spark they were
    compared once (bench/NOTES.md).
    """
    words = [sys.executable, every_expectation.__file__]
    ways = [
        subprocess.Popen([*words, how, "pandas"], stdout=subprocess.PIPE)
        for how in ("plain", "light")
    ]
    plain, light = (json.loads(way.communicate(timeout=120)[0]) for way in ways)
    assert set(plain["known"]) == set(EVERY)
    assert light == plain


def test_a_run_imports_no_client_of_a_database_or_cloud():
    script = (
        "import sys; from spark_jobs.checks.light_import import great_expectations\n"
        "great_expectations()\n"
        "names = 'sqlalchemy', 'botocore', 'grpc', 'scipy.optimize', 'altair.vegalite'\n"
        "print([name for name in names if name in sys.modules])\n"
        "import sqlalchemy, scipy.stats\n"
        "print(round(scipy.stats.norm.cdf(0), 1), sqlalchemy.__name__)"
    )
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, check=True)
    assert found.stdout.decode().split("\n")[:2] == ["[]", "0.5 sqlalchemy"]
