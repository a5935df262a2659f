"""Where a run is computed, and in which precision."""

import pytest
import torch
from pydantic import ValidationError
from torch._subclasses.fake_tensor import FakeTensorMode

from mgem_core import RunConfig, UsageError, networks, run
from mgem_core.config import explain
from mgem_core.config.keys import run_key
from mgem_core.gradients.devices import compute_in_bf16, pick_device
from mgem_core.gradients.linear_chain import chain_of
from mgem_core.gradients.rows import gradient
from mgem_core.streams._stream import Batch


@pytest.mark.parametrize("device", ["cpu", "mps"])
def test_bf16_is_refused_where_the_device_cannot_be_cuda(device):
    with pytest.raises(ValidationError) as caught:
        RunConfig(precision="bf16", device=device)
    expected = f"precision is 'bf16'; only CUDA devices compute in it, and device is '{device}'; use fp32."
    assert explain(caught.value) == expected


@pytest.mark.skipif(torch.cuda.is_available(), reason="auto is a CUDA device here")
def test_bf16_on_a_machine_without_cuda_is_refused_before_anything_runs():
    with pytest.raises(
        UsageError, match="precision is 'bf16', which only CUDA devices compute, and this run is on cpu; use fp32"
    ):
        run(RunConfig(precision="bf16"))
    assert pick_device("auto").type == "cpu"


def test_precision_is_part_of_the_key_on_cuda_only():
    fp32, bf16 = (RunConfig(precision=precision) for precision in ("fp32", "bf16"))
    assert run_key(fp32, "cuda") != run_key(bf16, "cuda")
    assert run_key(fp32, "cpu") == run_key(RunConfig(device="cpu"), "cpu")
    assert "precision" not in RunConfig(device="cpu").relevant_fields()


@pytest.mark.parametrize("name", ["mlp", "conv-small"])
def test_in_bf16_the_passes_are_in_bfloat16_and_gradients_in_float32(name):
    """On tensors without content, which tell the type of every result as CUDA would have it."""
    with FakeTensorMode(allow_non_fake_inputs=True):
        network = networks.build(name, (1, 28, 28), 10, seed=0)
        compute_in_bf16(network, torch.device("cpu"))
        batch = Batch(torch.rand(5, 1, 28, 28), torch.zeros(5, dtype=torch.long), None)
        assert network(batch.x).dtype == torch.bfloat16
        loss, g = gradient(network, batch)
        assert loss.dtype == torch.float32
        assert {part.dtype for part in g} == {torch.float32}
    assert chain_of(network) is None
