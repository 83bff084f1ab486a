"""11.1: a picture in patches."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from qkv.modalities import patchify
from qkv.questions.engine import Case, Draw, Question, call, mistake


def draw_pictures(draw: Draw) -> list[Case]:
    """Draw pictures of several sizes, also some that patches do not divide."""

    def case(
        name: str,
        patch: int = 2,
        grid: tuple[int, int] = (3, 4),
        channels: int = 3,
        dtype: torch.dtype = torch.float32,
        left_over: tuple[int, int] = (0, 0),
        raises: str | None = None,
    ) -> Case:
        height, width = (n * patch + extra for n, extra in zip(grid, left_over, strict=True))
        image = draw.normal(channels, height, width, dtype=dtype)
        sizes = {"C": channels, "H": height, "W": width, "patch": patch}
        return Case(call(image, patch), name, sizes, raises=raises)

    return [
        case("plain", grid=draw.choose(((3, 4), (2, 5)))),
        case("plain", patch=3, grid=draw.choose(((2, 4), (4, 2)))),
        case("float64", dtype=torch.float64),
        case("one channel", channels=1, grid=(3, 2)),
        case("a square picture", grid=(3, 3)),
        case("as many channels as rows in a patch", patch=3, grid=(3, 2)),
        case("patches of one pixel", patch=1, grid=(3, 4)),
        case("one patch", patch=4, grid=(1, 1)),
        case("a height that patch does not divide", patch=3, left_over=(1, 0), raises="ValueError"),
        case("a width that patch does not divide", patch=3, left_over=(0, 2), raises="ValueError"),
    ]


def checked_image(image: Tensor, patch: int) -> Tensor:
    if image.shape[1] % patch or image.shape[2] % patch:
        raise ValueError("a height and a width that the patch divides")
    return image


def in_order(*order: int) -> Callable[..., Tensor]:
    """Return an answer(image, patch) whose patches have their axes in this order.

    The axes are 0 channel, 1 row of patches, 2 row, 3 column of patches, 4 column. Patches become rows of C · patch²
    numbers. It raises a ValueError as the right answer does.
    """

    def variant(image: Tensor, patch: int) -> Tensor:
        channels, height, width = checked_image(image, patch).shape
        tiles = image.reshape(channels, height // patch, patch, width // patch, patch)
        return tiles.permute(*order).reshape(-1, channels * patch * patch)

    return variant


def reshape_alone(image: Tensor, patch: int) -> Tensor:
    return checked_image(image, patch).reshape(-1, len(image) * patch * patch)


def pixels_then_reshape(image: Tensor, patch: int) -> Tensor:
    return checked_image(image, patch).permute(1, 2, 0).reshape(-1, len(image) * patch * patch)


def patches_overlap(image: Tensor, patch: int) -> Tensor:
    tiles = checked_image(image, patch).unfold(1, patch, 1).unfold(2, patch, 1)
    return tiles.permute(1, 2, 0, 3, 4).reshape(-1, len(image) * patch * patch)


def a_row_for_each_channel(image: Tensor, patch: int) -> Tensor:
    tiles = checked_image(image, patch).unfold(1, patch, patch).unfold(2, patch, patch)
    return tiles.reshape(-1, patch * patch)


def channels_not_joined(image: Tensor, patch: int) -> Tensor:
    return a_row_for_each_channel(image, patch).unflatten(0, (len(image), -1))


def not_flattened(image: Tensor, patch: int) -> Tensor:
    return patchify(image, patch).unflatten(1, (len(image), patch, patch))


def patches_on_a_grid(image: Tensor, patch: int) -> Tensor:
    return patchify(image, patch).unflatten(0, (image.shape[1] // patch, -1))


def with_assert(image: Tensor, patch: int) -> Tensor:
    if image.shape[1] % patch or image.shape[2] % patch:
        raise AssertionError
    return patchify(image, patch)


def rest_cut_off(image: Tensor, patch: int) -> Tensor:
    height, width = (size // patch * patch for size in image.shape[1:])
    return patchify(image[:, :height, :width], patch)


def rest_filled_up(image: Tensor, patch: int) -> Tensor:
    rows, columns = (-size % patch for size in image.shape[1:])
    return patchify(torch.nn.functional.pad(image, (0, columns, 0, rows)), patch)


def one_side_looked_at(side: int) -> Callable[..., Tensor]:
    """Return an answer that raises a ValueError only if `patch` does not divide this axis of the image.

    What is left over on the other side is cut off.
    """

    def variant(image: Tensor, patch: int) -> Tensor:
        if image.shape[side] % patch:
            raise ValueError("a side that the patch divides")
        return rest_cut_off(image, patch)

    return variant


QUESTION = Question(
    points=3,
    inputs=("image", "patch"),
    outputs=("patches (n_patches, C · patch²)",),
    draw=draw_pictures,
    reference=patchify,
    misconceptions=(
        mistake("reshape-alone", reshape_alone),
        mistake("pixels-then-reshape", pixels_then_reshape),
        mistake("column-by-column", in_order(3, 1, 0, 2, 4)),
        mistake("channels-last", in_order(1, 3, 2, 4, 0)),
        mistake("channels-between", in_order(1, 3, 2, 0, 4)),
        mistake("patch-transposed", in_order(1, 3, 0, 4, 2)),
        mistake("strips-for-patches", in_order(1, 2, 0, 3, 4)),
        mistake("every-other-pixel", in_order(2, 4, 0, 1, 3), alone=True),
        mistake("channels-in-front", in_order(0, 1, 3, 2, 4)),
        mistake("patches-overlap", patches_overlap),
        mistake("a-row-for-each-channel", a_row_for_each_channel),
        mistake("channels-not-joined", channels_not_joined),
        mistake("not-flattened", not_flattened),
        mistake("patches-on-a-grid", patches_on_a_grid),
        mistake("rows-and-columns-swapped", lambda image, patch: patchify(image, patch).T),
        mistake("assertion-for-an-error", with_assert),
        mistake("rest-not-refused", rest_cut_off, rest_filled_up),
        mistake("one-side-looked-at", one_side_looked_at(1), one_side_looked_at(2)),
    ),
)
