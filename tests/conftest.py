import sys

import hypothesis
import pytest
import torch

hypothesis.settings.register_profile("project", deadline=None)  # timings do not belong in tests
hypothesis.settings.load_profile("project")
torch.set_num_threads(1)


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in its own hook
def pytest_collection_modifyitems(items):
    """With --dist loadgroup, run the tests of a file one after the other, because they share fixtures such as a server."""
    for item in items:
        if not item.get_closest_marker("xdist_group"):
            item.add_marker(pytest.mark.xdist_group(str(item.path)))


@pytest.fixture(autouse=True)
def _same_main_module():
    """Streamlit's AppTest leaves the page as the main module, which workers started by later tests would import."""
    main = sys.modules["__main__"]
    yield
    sys.modules["__main__"] = main
