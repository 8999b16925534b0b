"""A real Kafka broker, real flights and a real producer's faults, on one machine, for the tests and
the demo.
"""
