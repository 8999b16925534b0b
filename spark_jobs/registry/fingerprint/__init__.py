"""Fingerprint: what stored state depends on, of the spec, of its code, and of what surrounds both;
and which change of it a checkpoint survives.

Never here: where it is stored, which checkpoint knows.
"""
