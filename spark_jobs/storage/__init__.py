"""Storage: files, folders and objects under the root, on a disk or in an object store, without a
JVM.

May import: errors, spec, values. Imported by: any room above.
Never here: what a table is.
"""
