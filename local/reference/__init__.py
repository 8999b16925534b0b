"""docs/reference.md, written from the code: `make reference`."""
