"""Source: reads records from Kafka, and asks the brokers for a topic's id and offsets."""
