"""Apart: steps that take the inputs apart."""
