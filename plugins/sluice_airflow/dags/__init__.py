"""The DAGs of a pipeline, their texts and their timetables."""
