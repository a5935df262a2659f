"""Network and batches → gradients.

In: a torch module, a batch, and the samples in memory (`memory`). Out: the gradient of the batch and one row per memory
split (`rows`), computed fast for chains of linear layers (`linear_chain`), on the device that the user chose (`devices`).
"""
