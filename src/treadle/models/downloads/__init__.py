"""Local models: the catalogue, where their files are stored, and how they are downloaded and verified."""
