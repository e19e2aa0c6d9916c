"""What may run and what may be seen: policy and redaction. Pure."""
