"""Jobs: long-running work of assistants, how it is stored, executed and offered as tools."""
