"""Sources of tools, and the wrappers that add behaviour to them."""
