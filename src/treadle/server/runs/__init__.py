"""Runs over HTTP: started, continued, watched, approved, cancelled and forked. A client that disconnects doesn't stop them."""
