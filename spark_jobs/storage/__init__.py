"""Storage: Delta tables, folders and objects under the root, on a disk or in an object store."""
