"""PyArrow in a Python worker, without pandas until somebody imports it."""

from tests.harness.ran import python
from tests.harness.turns import alike

pytestmark = alike("what a process loads")

BEFORE = "from spark_jobs.decode.pandas_later import without_pandas; without_pandas(); "


def said(script):
    done = python(script, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_arrays_are_made_without_importing_pandas():
    script = "import sys, pyarrow as pa; pa.array([1]); print('pandas' in sys.modules)"
    assert said(script) == ["True"]
    assert said(BEFORE + script) == ["False"]


def test_what_pandas_makes_later_is_known_for_pandas():
    """NaN of a Series is a null, and of a list a number; also where it is asked for twice."""
    script = (
        "import pyarrow as pa, pandas as pd; s = pd.Series([1.0, float('nan')]); "
        "i = pd.Index([1.5]); d = pd.DataFrame({'a': s}); "
        "print(pa.array(s).null_count, pa.array(i).to_pylist(), pa.table(d).num_rows, "
        "pa.array([1.0, float('nan')]).null_count, pa.array(s).to_pandas().isna().sum())"
    )
    assert said(BEFORE + "without_pandas(); " + script) == said(script) == ["1 [1.5] 2 0 1"]


def test_a_process_that_has_pandas_keeps_it():
    script = "print(pa.array(pd.Series([None, 1.0])).null_count)"
    assert said("import pandas as pd, pyarrow as pa; " + BEFORE + script) == ["1"]
