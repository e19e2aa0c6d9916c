"""Files of one folder as tools: reading, editing, searching, looking around, and never a way out of it."""
