"""Train a `RunConfig` and yield events: the training loop and its measurements.

`engine.run` yields the events of a run. `evaluation` computes accuracies, `probes` and `step_means` measure steps, and
`checkpoints` hold everything that an interrupted run needs to continue with the same numbers.
"""
