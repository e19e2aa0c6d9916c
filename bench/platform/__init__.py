"""Questions about the demo platform: how many a model answers right with the platform assistant's tools."""
