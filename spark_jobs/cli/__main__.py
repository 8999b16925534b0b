"""`python -m spark_jobs.cli`, for places without an installed `sluice`: the image, and scripts that
choose their Python.
"""

import sys

from spark_jobs.cli import app

if __name__ == "__main__":
    sys.exit(app(prog_name="sluice"))
