"""Account: each committed batch is accounted for once, by its progress or by a second read; audit/
compares the counts.

Never here: what counts must agree.
"""
