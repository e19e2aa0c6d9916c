"""One module per command, each with a `run` function; imported only when the command is used."""
