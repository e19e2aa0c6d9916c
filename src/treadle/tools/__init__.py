"""Tools from functions: schema, validation, and problems described for the model. Pure."""
