"""What reading a file costs on each path: tokens, exactly, and time, with a real model."""
