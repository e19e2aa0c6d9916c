"""How often calls are right: the public Berkeley function-calling cases, for Treadle and for others on the same server."""
