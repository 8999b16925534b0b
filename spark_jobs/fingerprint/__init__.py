"""What stored state depends on: of the spec, of the code, and of what surrounds both."""
