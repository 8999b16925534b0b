"""What Avro and Protobuf have in common: ids of schemas, and objects as values."""
