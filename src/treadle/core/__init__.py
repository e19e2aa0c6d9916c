"""The vocabulary of Treadle: values, errors and protocols. Nothing here does any work; read `messages` first, then `seams`."""
