"""Single: SGD on the stream, without any measure against forgetting."""

from mgem_core.learners import Method, Style, register
from mgem_core.learners._learner import Learner


class Single(Learner):
    pass


register(
    Method(
        name="single",
        about="SGD on the stream",
        learner=Single,
        label=lambda config: "Single",
        families={"Single": Style("#808080", "star", "*")},
    )
)
