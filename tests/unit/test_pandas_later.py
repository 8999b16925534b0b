"""PyArrow in a Python worker, without pandas until somebody imports it."""

import subprocess
import sys

import pytest

BEFORE = "from spark_jobs.decode.decoder import without_pandas; without_pandas(); "


def said(script):
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_arrays_are_made_without_importing_pandas():
    script = "import sys, pyarrow as pa; pa.array([1]); print('pandas' in sys.modules)"
    assert said(script) == ["True"]
    assert said(BEFORE + script) == ["False"]


@pytest.mark.parametrize("again", ["", "without_pandas(); "])
def test_what_pandas_makes_later_is_known_for_pandas(again):
    """NaN of a Series is a null, and of a list a number."""
    script = (
        "import pyarrow as pa, pandas as pd; s = pd.Series([1.0, float('nan')]); "
        "i = pd.Index([1.5]); d = pd.DataFrame({'a': s}); "
        "print(pa.array(s).null_count, pa.array(i).to_pylist(), pa.table(d).num_rows, "
        "pa.array([1.0, float('nan')]).null_count, pa.array(s).to_pandas().isna().sum())"
    )
    assert said(BEFORE + again + script) == said(script) == ["1 [1.5] 2 0 1"]


def test_a_process_that_has_pandas_keeps_it():
    script = "print(pa.array(pd.Series([None, 1.0])).null_count)"
    assert said("import pandas as pd, pyarrow as pa; " + BEFORE + script) == ["1"]
