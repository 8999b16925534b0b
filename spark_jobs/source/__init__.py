"""Source: records as Kafka has them, and what the brokers say of a topic."""
