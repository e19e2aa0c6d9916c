"""What runners write, read: one file for each way of writing. Pure, in linear time, and never a mistake on any text."""
