"""Independent: a network per task, hidden widths divided by the number of tasks. Nothing is shared or forgotten."""

from mgem_core.learners import Method, Style, register
from mgem_core.learners._learner import Learner


class Independent(Learner):
    """SGD; `Learner` builds a network per task, because `shares_network` is False."""


register(
    Method(
        name="independent",
        about="a network per task",
        learner=Independent,
        label=lambda config: "Independent",
        families={"Independent": Style("#808080", "pentagon", "p")},
        shares_network=False,
    )
)
