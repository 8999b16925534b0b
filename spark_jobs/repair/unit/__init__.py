"""Unit: what a repair computes again, and replaces, as a whole. A port (unit.py; rows.py
where Spark is), and its three: a range, a range of whole sessions, keys.

Never here: an order of steps. Planner, stage, swap and undo have that, for every unit.
"""
