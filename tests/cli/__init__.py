"""The command line, run as people run it: as a process of its own, with a data folder of its own."""
