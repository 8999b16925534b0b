"""Delta: the protocol, its log and delta-rs."""
