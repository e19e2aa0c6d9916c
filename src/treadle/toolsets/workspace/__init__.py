"""Files of one folder as tools: reading, editing, searching and listing, confined to the folder."""
