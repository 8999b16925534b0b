"""Kafka declared: the properties file in librdkafka's names, checked and translated for Java."""
