import torch

from mgem_core import RunConfig, networks

DIGITS = (1, 28, 28)


def test_digits_cnn_matches_the_paper():
    shapes = {layer.name: layer.shapes["weight"] for layer in networks.layers("digits-cnn", DIGITS, 10)}
    assert shapes == {"conv1": (32, 1, 3, 3), "conv2": (64, 32, 3, 3), "fc1": (128, 64 * 144), "fc2": (10, 128)}
    assert RunConfig(network="digits-cnn", modules="layers").module_of == (0, 0, 1, 1, 2, 2, 3, 3)


def test_max_pooling_comes_before_the_linear_layers():
    network = networks.build("digits-cnn", DIGITS, 10, seed=0)
    x = torch.rand(2, *DIGITS)
    before = torch.relu(network.conv2(torch.relu(network.conv1(x))))
    pooled = before.unfold(2, 2, 2).unfold(3, 2, 2).amax((-1, -2))
    expected = network.fc2(torch.relu(network.fc1(pooled.flatten(1))))
    torch.testing.assert_close(network(x), expected)
