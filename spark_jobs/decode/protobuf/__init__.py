"""Protobuf: messages of a registry's schemas, or of a declared one."""
