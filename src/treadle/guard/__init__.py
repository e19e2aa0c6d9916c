"""Guards: policy (which calls may run), provenance of arguments, and redaction of secrets. Pure."""
