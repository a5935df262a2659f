"""Single: SGD on the stream, as if nothing could be forgotten."""

from mgem_core.learners._learner import Learner


class Method(Learner):
    pass
