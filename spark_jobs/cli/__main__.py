"""The command `sluice`; also `python -m spark_jobs.cli`, for places where it is not installed: the
image, and scripts that choose their Python.

The commands are in the files beside this; __init__.py joins them.
"""

import gc

from spark_jobs.cli import app


def main() -> None:
    """Run the command that the arguments name, and end the process."""
    # Collections, the last one too, would look through all that is imported. Not frozen: what a
    # pipeline's code makes, since a file that it leaves open is written by the last one.
    gc.freeze()
    app(prog_name="sluice")


if __name__ == "__main__":
    main()
