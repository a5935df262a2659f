"""Draw a partition of a network's parameters as a bar."""

from mgem_core.figures.style import MODULES
from mgem_core.networks import NETWORKS, Layer, layers
from mgem_core.restriction.partition import Each
from mgem_core.restriction.partition import modules as partition
from mgem_core.streams import BENCHMARKS


def network_layers(network: str, benchmark: str) -> list[Layer]:
    """Return the layers of a network for a benchmark; none if it cannot process the benchmark's images."""
    images = BENCHMARKS[benchmark]
    return layers(network, images.shape, images.classes) if NETWORKS[network].fits(images.shape) else []


def partition_bar(of_network: list[Layer], modules: int | Each | dict[str, int], mark: str = "") -> str:
    """Return HTML with a block per tensor, coloured by module, after the number of modules and `mark`.

    The width of a block grows with the square root of the tensor's size, so that biases are visible. Blocks have no
    minimum width, because a network may have more tensors than its bar has pixels.
    """
    tensors = [(name, size) for layer in of_network for name, size in layer.tensors.items()]
    module_of = partition(of_network, modules)
    count = max(module_of) + 1
    smallest = 0.3 * sum(size**0.5 for _, size in tensors) / len(tensors)
    gap = 2 if len(tensors) <= 20 else 0
    blocks = "".join(
        f'<span title="{name}: {size:,} parameters, module {module + 1}" '
        f'style="flex:{smallest + size**0.5:.1f} 1 0;min-width:0;height:16px;'
        f'background:{MODULES[module % len(MODULES)]};border-radius:{gap}px"></span>'
        for (name, size), module in zip(tensors, module_of, strict=True)
    )
    text = ", ".join(f"{name} in {module + 1}" for (name, _), module in zip(tensors, module_of, strict=True))
    return (
        '<div style="display:flex;align-items:center;gap:8px">'
        f'<span style="width:2.2em;font-size:0.8rem">{count}{mark}</span>'
        f'<div role="img" aria-label="{count} modules: {text}" '
        f'style="display:flex;gap:{gap}px;flex:1;min-width:0">{blocks}</div></div>'
    )
