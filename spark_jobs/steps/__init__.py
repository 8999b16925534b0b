"""Steps: the steps of a pipeline as Spark operators, one file for each; chain.py applies them in
order.
"""
