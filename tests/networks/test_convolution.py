import pytest
import torch
from torch import nn

from mgem_core import networks
from mgem_core.gradients.memory import pack
from mgem_core.gradients.rows import rows_by_vmap, rows_one_by_one
from mgem_core.networks._convolution import Conv2d
from mgem_core.streams._stream import Batch


def outputs_and_gradients(way, layer, x):
    y = way(layer, x)
    weights = torch.linspace(-1, 1, y.numel(), dtype=y.dtype).view(y.shape)  # different for every output
    return y, torch.autograd.grad((weights * y).sum(), [x, *layer.parameters()])


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize(
    ("kernel", "stride", "padding", "shape"),
    [
        (4, 2, 1, (4, 4)),
        (3, 1, 1, (2, 2)),
        (3, 1, 0, (3, 3)),
        (1, 1, 0, (2, 2)),
        ((2, 5), (1, 3), (0, 2), (3, 7)),  # height and width differ
    ],
)
def test_product_gives_outputs_and_gradients_of_torch(kernel, stride, padding, shape, bias, dtype):
    torch.manual_seed(0)
    layer = Conv2d(6, 8, kernel, stride, padding, bias=bias).to(dtype)
    x = torch.randn(5, 6, *shape, dtype=dtype, requires_grad=True)
    y, gradients = outputs_and_gradients(Conv2d.as_product, layer, x)
    expected, expected_gradients = outputs_and_gradients(nn.Conv2d.forward, layer, x)
    torch.testing.assert_close(y, expected)
    for g, expected_g in zip(gradients, expected_gradients, strict=True):
        torch.testing.assert_close(g, expected_g)


def test_only_large_kernels_with_few_positions_use_the_product():
    network = networks.build("conv5", (3, 32, 32), 100, seed=0)
    uses_product = {}
    for name, layer in network.named_children():
        if isinstance(layer, Conv2d):
            layer.register_forward_hook(
                lambda layer, inputs, y, name=name: uses_product.update({name: torch.equal(y, layer.as_product(*inputs))})
            )
            with torch.no_grad():
                layer.weight.mul_(1 + 1e-3 * torch.rand_like(layer.weight))  # so that rounding differs
    network(torch.rand(3, 3, 32, 32))
    assert uses_product == {f"conv{i}": i == 4 for i in range(1, 6)}
    with torch.no_grad():  # a test of the network needs no gradients
        network(torch.rand(3, 3, 32, 32))
    assert not any(uses_product.values())


def test_rows_of_conv5_are_the_same_by_vmap_and_by_torch():
    torch.manual_seed(0)
    network, plain = (networks.build("conv5", (3, 32, 32), 10, seed=0) for _ in range(2))
    plain.conv4.__class__ = nn.Conv2d
    memory = pack([Batch(torch.rand(4, 3, 32, 32), torch.arange(4), None) for _ in range(2)])
    expected = rows_one_by_one(plain, memory)
    for rows in (rows_one_by_one(network, memory), rows_by_vmap(network, memory)):
        assert (rows - expected).norm() <= 1e-4 * expected.norm()
