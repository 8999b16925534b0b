"""Published: the table of judged rows, which only the task `publish` moves."""
