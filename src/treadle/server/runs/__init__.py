"""Runs over HTTP: begun, gone on with, watched, approved, cancelled and forked. They last: whoever leaves stops none of them."""
