"""The same stores in PostgreSQL, for homes that several machines share. What is kept is the business of the stores above.

Needs `pip install 'treadle[cluster]'`; the driver is imported when a connection is first made.
"""
