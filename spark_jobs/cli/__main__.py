"""`python -m spark_jobs.cli`, for places without an installed `sluice`: the image, and scripts that
choose their Python.

The commands are in run.py, look.py and admin.py, beside this; __init__.py joins them.
"""

import sys

from spark_jobs.cli import app

if __name__ == "__main__":
    sys.exit(app(prog_name="sluice"))
