"""JSON Schema: a document as the declaration of a topic's fields, and written from them.

Drafts 7 and 2020-12. What a field cannot hold is refused, by its JSON pointer.

Never here: records. They are decoded by the fields alone.
"""
