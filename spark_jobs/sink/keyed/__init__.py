"""Keyed: how a table that follows a key gets a batch of changes.

Never here: what a consumer sees of it, which is in published/.
"""
