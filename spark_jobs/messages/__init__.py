"""Messages: what processes tell each other: requests, reports, verdicts, asset events.

May import: errors, settings, spec, storage, values. Imported by: any room above.
Never here: how a message comes about.
"""
