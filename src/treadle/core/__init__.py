"""The words of Treadle: values, errors and seams. Nothing here does any work; read `messages` first, then `seams`."""
