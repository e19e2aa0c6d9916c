"""Many workers: runs are queued, and carried out by whichever worker has room, on one machine or on many."""
