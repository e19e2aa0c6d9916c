"""What replies: one file a kind of server, plus the scripted and the recorded model that tests and examples use."""
