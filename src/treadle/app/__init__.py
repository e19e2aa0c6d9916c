"""Wiring: the only place that knows every part. `agent` is the public face."""
