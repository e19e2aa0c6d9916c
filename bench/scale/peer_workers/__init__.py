"""Workers of other engines on PostgreSQL: runs of three effects, written as the engine's documentation says.

They run in an environment of their own (`bench/faults/requirements.txt`), without Treadle. Their arguments are a name, the number
of runs at once, what the engine is measured with, and a port.
"""
