"""The wires, spoken by the official clients."""
