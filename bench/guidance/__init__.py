"""Questions about the sample project: how many a small model answers right with the guidance assistant."""
