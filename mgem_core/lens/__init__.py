"""Recorded steps → what any other restriction would have done at them, without training.

In: snapshots of runs in the store or in `.lens` files (`recordings`), which a `Recorder` writes from any training loop.
Out: ⟨g_s,z⟩, ⟨g_t,z⟩ and ‖z‖ at every recorded step (`answers`) for any modules, splits and strengths.
"""
