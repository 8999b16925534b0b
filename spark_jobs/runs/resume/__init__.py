"""What is settled before a drain resumes a checkpoint."""
