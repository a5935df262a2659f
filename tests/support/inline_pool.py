"""A pool that trains in the process of the test, a few messages per poll, so that tests control each round."""

from itertools import islice

from mgem_core.runner import Ended
from mgem_core.runner.worker import train


class InlinePool:
    problem = ""

    def __init__(self, messages=3):
        self.messages, self.run, self.training = messages, None, None
        self.states = []  # the checkpoint from which each run was started

    def free(self):
        return int(self.run is None)

    def start(self, run, config, state):
        self.run, self.unwanted = run, False
        self.states.append(state)
        self.training = train(config.model_dump_json(), state, lambda: self.unwanted)

    def cancel(self, run):
        self.unwanted |= run == self.run

    def poll(self, seconds):
        if self.run is None:
            return []
        messages = [(self.run, message) for message in islice(self.training, self.messages)]
        if messages and isinstance(messages[-1][1], Ended):
            self.run = None
        return messages

    def close(self):
        self.run = None
