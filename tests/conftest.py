import hypothesis
import torch

hypothesis.settings.register_profile("project", deadline=None)  # timings do not belong in tests
hypothesis.settings.load_profile("project")
torch.set_num_threads(1)
