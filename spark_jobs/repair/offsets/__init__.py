"""At which offsets the records of a range are, and who still has them."""
