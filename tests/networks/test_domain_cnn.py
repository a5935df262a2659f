from itertools import pairwise

import torch

from mgem_core import networks
from mgem_core.restriction import partition

PHOTOS = (3, 96, 96)


def test_domain_cnn_matches_the_paper():
    layers = networks.layers("domain-cnn", PHOTOS, 10)
    widths = [3, 64, 128, 256, 512, 512, 10]
    assert [layer.shapes["weight"] for layer in layers] == [(b, a, 3, 3) for a, b in pairwise(widths)]
    assert max(partition.modules(layers, "layers")) == 5
    network = networks.build("domain-cnn", PHOTOS, 10, seed=0)
    convolutions = [part for part in network if isinstance(part, torch.nn.Conv2d)]
    assert [(part.stride[0], part.padding[0]) for part in convolutions] == [(2, 1)] * 5 + [(1, 0)]


def test_image_of_paper_size_has_one_position_per_logit():
    network = networks.build("domain-cnn", PHOTOS, 10, seed=0, width=1 / 16)
    x = torch.rand(2, *PHOTOS)
    torch.testing.assert_close(network[:-2](x).flatten(1), network(x))
    larger = torch.rand(2, 3, 128, 128)
    assert network[:-2](larger).shape == (2, 10, 2, 2)
    torch.testing.assert_close(network[:-2](larger).mean((2, 3)), network(larger))
