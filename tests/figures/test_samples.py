"""Figure 5: images of the domains whose data is installed."""

import numpy as np
from PIL import Image

from mgem_core.figures import samples
from mgem_core.streams import domainnet


def test_domains_without_downloads(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    found = samples.strips()
    assert [strip.domain for strip in found] == [
        *("MNIST", "UCI digits (1,437 images)", "MNIST on photographs (derived)", "rendered digits (derived)"),
        "Synthetic Digits (our rendering)",
    ]
    width = samples.COUNT * 28 + (samples.COUNT - 1) * samples.GAP
    assert all(strip.pixels.shape == (28, width, 3) and strip.pixels.dtype == np.uint8 for strip in found)


def test_image_folder_has_one_colour_image_per_class(tmp_path, monkeypatch):
    monkeypatch.setenv("MGEM_DATA", str(tmp_path))
    for number in range(5):
        folder = tmp_path / "pacs" / "photo" / f"class{number}"
        folder.mkdir(parents=True)
        for place in range(domainnet.FEWEST):
            Image.new("RGB", (12, 8), (50 * number, 200, 0)).save(folder / f"{place:03}.png")
    photo = samples.strips()[-1]
    assert (photo.benchmark, photo.domain) == ("PACS (2 × 5 classes)", "PACS photo")
    assert [tuple(photo.pixels[0, number * (96 + samples.GAP)]) for number in range(5)] == [
        (50 * number, 200, 0) for number in range(5)
    ]
