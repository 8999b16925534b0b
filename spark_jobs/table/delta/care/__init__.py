"""Care: small files joined, old ones removed, by delta-rs under a lease."""
