"""The stages that every pipeline has: source, decode, classify, then the steps in stateful/, sink, checks."""
