"""Proof: a pipeline's cases, which are data beside its spec, and previews over a sample: through
real drains without a broker.

May import: admin, checkpoint, decode, draft, errors, launch, messages, ops, registry, repair,
runs, settings, side, source, spec, storage, table, values. Imported by: cli.
Never here: a stand-in for a step, a watermark or a sink.
"""
