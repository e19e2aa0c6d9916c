"""The same stores in PostgreSQL, for homes that several machines share. Their content is up to the stores above.

Needs `pip install 'treadle[cluster]'`; the driver is imported with the first connection.
"""
