"""The command `sluice`; also `python -m spark_jobs.cli`, for places where it is not installed: the
image, and scripts that choose their Python.

The commands are in run.py, look.py and admin.py, beside this; __init__.py joins them.
"""

import atexit
import gc

from spark_jobs.cli import app


def main() -> None:
    """Run the command that the arguments name, and end the process."""
    gc.set_threshold(100_000)  # importing would start hundreds of collections
    atexit.register(gc.freeze)  # the last one would look through all that was imported
    app(prog_name="sluice")


if __name__ == "__main__":
    main()
