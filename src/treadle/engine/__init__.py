"""Executes what the loop decides: requests replies from models, runs tool calls, journals what happened."""
