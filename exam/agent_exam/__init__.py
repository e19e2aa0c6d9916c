"""An exam for agent frameworks: four suites of cases that are data, an adapter for each framework, a table of what passed."""
