"""Mutants of this subject. See mutant.py."""

from tests.mutants.mutant import Mutant

MUTANTS: tuple[Mutant, ...] = ()
