"""The Kafka declaration: properties under librdkafka's names, checked, and translated for Java.

Never here: a connection to a broker.
"""
