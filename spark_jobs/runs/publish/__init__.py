"""What `publish` tells consumers."""
