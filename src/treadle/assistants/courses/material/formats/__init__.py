"""Files of every format made into one kind of value, `Material`. Each format has a file here; its library comes with an extra."""
