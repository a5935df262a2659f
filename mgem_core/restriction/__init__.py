"""The method of the paper: a gradient and memory rows → a direction that does not conflict with past tasks.

In: vectors (`direction`) or their inner products (`dual`, `path`), and a partition of the parameters and of the memory
(`partition`). Out: the dual variables v and the direction z. `path` follows v over all strengths, `surgery` has related
rules, and `gram_factors` packs Gram matrices. Nothing here depends on a network.
"""
