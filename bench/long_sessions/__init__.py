"""Long sessions: what is still known of their beginning, at which cost, for Treadle and for other frameworks."""
