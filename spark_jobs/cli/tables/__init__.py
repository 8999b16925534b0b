"""Tables of the command line: for people, and for programs.

Never here: what is read for them.
"""
