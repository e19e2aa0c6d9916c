"""Workers: queued runs, executed by whichever worker has capacity, on one machine or on many."""
