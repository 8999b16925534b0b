"""The account of each committed batch: what Spark, Kafka and Delta say of it, held against each other."""
