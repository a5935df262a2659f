"""A `RunConfig` → events: the training loop and what it measures.

`engine.run` yields the events of a run. `evaluation` computes accuracies, `probes` and `step_means` measure steps, and
`checkpoints` hold everything that an interrupted run needs to go on with the same numbers.
"""
