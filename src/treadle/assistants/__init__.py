"""The assistants that come with Treadle. Each is a plug-in like anyone's: it sees only the public names."""
