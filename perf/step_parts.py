"""Profile a restricted step: CPU microseconds of its parts on the MLP, the best of several rounds.

The last column has the same products in plain torch, on all inputs.
"""

import argparse
from functools import partial
from time import process_time
from typing import Any

import torch

from mgem_core.gradients.linear_chain import RowsAndBatch
from mgem_core.learners._learner import Step
from mgem_core.restriction import direction
from perf.setting import gem, product_parts
from perf.timing import best_of, save

STEPS: dict[str, tuple[int, dict[str, Any]]] = {
    "GEM, k = 1": (1, {}),
    "GEM, k = 19": (19, {}),
    "d-mGEM(2), k = 19": (19, {"splits": 2}),
    "p-mGEM(4), k = 19": (19, {"modules": 4}),
}

FIRST_LAYER = ("  lines of W", "  first layer forward", "  first layer rows", "  lines of G")


def parts_of(past: int, fields: dict[str, Any], rounds: int) -> dict[str, float]:
    one = gem(past, **fields)
    rows, images, seconds = one.gradients, one.stream.tasks[past].train[-10:], dict[str, list[float]]()
    assert isinstance(rows, RowsAndBatch)

    def timed(name: str, call: Any) -> Any:
        start = process_time()
        result = call()
        seconds.setdefault(name, []).append(process_time() - start)
        return result

    for _ in range(rounds):
        batch = timed("images of the batch", partial(one.stream.batch, past, images))
        loss, g, G = timed("one pass: g and G", partial(rows, batch))
        timed("  lines of W", partial(torch.index_select, rows.chain.lines, 0, rows.columns, out=rows.W_used))
        timed("  first layer forward", partial(torch.bmm, rows.x, rows.W_rows, out=rows.a_rows[0]))
        timed("  first layer rows", partial(torch.bmm, rows.x_T, rows.delta_rows[0].transpose(1, 2), out=rows.G_rows))
        timed("  lines of G", partial(torch.index_select, rows.G_used, 0, rows.places, out=rows.G_lines))
        solution = timed("b, A and dual problem", partial(direction.solve, g, G, one.slices, one.restriction))
        timed("  b = G g", partial(torch.mv, G, g))
        timed("  A = G Gᵀ", partial(direction.gram, G))
        z = timed("z = g + Gᵀ v", partial(direction.update_direction, g, G, solution.v, one.slices, one.z))
        step = timed("views per parameter", lambda loss=loss, g=g, z=z: Step(loss, rows.split(g), rows.split(z)))
        timed("θ − lr z", partial(one.move, past, step))
        timed("whole step", partial(one.observe, past, 0, images))
    parts = {name: 1e6 * min(times) for name, times in seconds.items()}
    parts["  other layers, and g"] = parts["one pass: g and G"] - sum(parts[name] for name in FIRST_LAYER)
    return parts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    measured = {name: parts_of(past, fields, rounds) for name, (past, fields) in STEPS.items()}
    order = list(measured["GEM, k = 1"])
    products = best_of(rounds, product_parts(gem(19)))
    measured["products, k = 19"] = {part: 1e6 * seconds for part, seconds in products.items()}
    print("\nCPU microseconds        " + "".join(f"{name:>20}" for name in measured))
    for part in order:
        print(f"{part:<24}" + "".join(f"{parts[part]:>20,.0f}" if part in parts else "" for parts in measured.values()))
    save("parts", measured)


if __name__ == "__main__":
    main()
