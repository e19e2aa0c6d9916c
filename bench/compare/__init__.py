"""The nine programs in `examples/`, and the same programs for pydantic-ai in `programs/`: length, answers, types."""
