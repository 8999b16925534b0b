"""Inside the worker: what runs in its process."""
