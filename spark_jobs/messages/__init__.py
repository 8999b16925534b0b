"""What processes tell each other: reports, asset events, requests, verdicts."""
