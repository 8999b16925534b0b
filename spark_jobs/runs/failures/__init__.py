"""What made a query fail, in words, and which records did."""
