"""A pipeline that only a fault needs."""
