"""Great Expectations' own documents of a run, as one page without scripts and without addresses."""
