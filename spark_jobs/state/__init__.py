"""What a pipeline's stateful steps remember, read from the checkpoint and shown to a person. Nothing here writes."""
