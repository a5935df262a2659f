"""Rendered digits: printed in matplotlib's fonts, at random positions, sizes, angles and shades, with clutter.

They replace Ganin's Synthetic Digits, which were made in this way but cannot be downloaded. They are not the same images,
so they are labelled "our rendering" wherever they are shown.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mgem_core.randomness import rng

if TYPE_CHECKING:
    from PIL.ImageFont import FreeTypeFont

SIDE = 28
FONTS = (
    *("DejaVuSans", "DejaVuSans-Bold", "DejaVuSans-Oblique", "DejaVuSansMono", "DejaVuSansMono-Bold", "DejaVuSerif"),
    *("DejaVuSerif-Bold", "DejaVuSerif-Italic", "STIXGeneral", "STIXGeneralBol", "STIXGeneralItalic", "cmr10", "cmss10"),
    *("cmtt10", "cmb10"),
)
PACKAGES = ("matplotlib", "pillow")  # the fonts and the library that draws them


@cache
def render_digits(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return images [count, 784] uint8 and labels [count]; always the same, and every digit equally often."""
    labels = np.arange(count) % 10
    return np.stack([_render(i, int(digit)) for i, digit in enumerate(labels)]), labels


def _render(number: int, digit: int) -> np.ndarray:
    """Render one digit near the middle, with parts of two others next to it, as on a house number plate."""
    from PIL import Image, ImageDraw, ImageFilter

    draw = rng(0, "rendered digits", number)
    background = int(draw.integers(256))
    ink = (background + int(draw.integers(64, 193))) % 256  # so they differ by at least 64
    font = _font(FONTS[draw.integers(len(FONTS))], int(draw.integers(20, 30)))
    stencil = Image.new("L", (2 * SIDE, 2 * SIDE))
    right, down = SIDE + draw.uniform(-3, 3, 2)
    left_digit, right_digit = draw.integers(10, size=2)
    gaps = draw.uniform(13, 24, 2)
    for text, x in ((left_digit, right - gaps[0]), (digit, right), (right_digit, right + gaps[1])):
        ImageDraw.Draw(stencil).text((x, down), f"{text}", fill=255, font=font, anchor="mm")
    turned = stencil.rotate(draw.uniform(-25, 25), Image.Resampling.BILINEAR)
    canvas = Image.new("L", (SIDE, SIDE), background)
    canvas.paste(ink, mask=turned.crop((SIDE // 2, SIDE // 2, SIDE // 2 + SIDE, SIDE // 2 + SIDE)))
    blurred = canvas.filter(ImageFilter.GaussianBlur(draw.uniform(0, 0.8)))
    noise = draw.normal(0, draw.uniform(0, 12), (SIDE, SIDE))
    return np.clip(np.asarray(blurred) + noise, 0, 255).astype(np.uint8).ravel()


@cache
def _font(name: str, size: int) -> FreeTypeFont:
    import matplotlib
    from PIL import ImageFont

    return ImageFont.truetype(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{name}.ttf", size)
