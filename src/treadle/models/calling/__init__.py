"""Tool calling for models without reliable native calls: guided, constrained, prompted, with flattened tools."""
