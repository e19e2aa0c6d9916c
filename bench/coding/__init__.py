"""Small bugs to fix: how many an assistant with tools solves, and how many the same model solves that is asked once."""
