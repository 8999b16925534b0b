"""Values of records: the types of fields, and what each engine makes of them."""
