"""What docker-compose.yml runs beside the product: secrets, one-shot jobs, health, the demo.

All of it runs in the image.
"""
