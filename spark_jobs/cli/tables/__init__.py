"""Tables of the command line: for people, and for programs."""
