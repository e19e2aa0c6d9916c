"""The agent: a model with tools and instructions, its output, budget, nested agents and sessions."""
