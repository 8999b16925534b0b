"""What every run has the same, so that results do not depend on the machine."""
