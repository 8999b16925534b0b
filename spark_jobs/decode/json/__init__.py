"""JSON: values of nested objects, by msgspec, strictly."""
