"""Pipelines that show an operator each; SLUICE_PIPELINES=tests.pipelines makes them runnable."""
