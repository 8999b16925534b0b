"""The stages that every pipeline has: source, decode, guard, then the steps in stateful/, sink, audit, checks."""
