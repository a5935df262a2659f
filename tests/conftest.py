import sys

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("project", deadline=None)  # timings do not belong in tests
hypothesis.settings.load_profile("project")
torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _same_main_module():
    """Streamlit's AppTest leaves the page as the main module, which workers started by later tests would import."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
