"""Tools from functions: schema, validation, and problems worded for the model. Pure."""
