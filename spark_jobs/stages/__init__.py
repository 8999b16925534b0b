"""The stages of a record's way that every pipeline has: source, decode, guard, then the steps in stateful/, sink, audit, checks."""
