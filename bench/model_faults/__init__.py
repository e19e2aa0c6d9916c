"""Ten thousand model requests of which three in ten go wrong, on OpenAI's wire and Anthropic's: the outcome of the runs is counted.

`python -m bench.model_faults`; its result is in `bench/results/model-faults.md`. Processes that die are `bench.faults`.
"""
