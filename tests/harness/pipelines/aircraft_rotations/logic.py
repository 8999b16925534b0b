"""The shipped logic."""

from spark_jobs.pipelines.aircraft_rotations.logic import Rotations

__all__ = ["Rotations"]
