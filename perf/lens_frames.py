"""The lens in a browser: times of frames while its sliders are dragged, and of solving one family anew."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from playwright.sync_api import Page, sync_playwright

from perf.dashboard import FLAGS
from perf.timing import save

sys.path.insert(0, str(Path(__file__).parents[1] / "app"))  # as Streamlit does
from components import FOLDER, LENS_SCRIPTS
from lens.example_runs import example_recordings
from lens.payload import payload

WANTED = 16  # milliseconds within which 95 % of the frames should come
# Each frame moves a slider and waits until it is drawn; its time is that of the scripts, from the event to the last change.
DRAG = """async ([name, frames]) => {
    const lens = document.querySelector('.lens').lens, times = [];
    const input = document.querySelector(`input[aria-label="${name}"]`), low = Number(input.min), high = Number(input.max);
    const draw = lens.solveAndDraw.bind(lens);
    let spent = 0;
    lens.solveAndDraw = () => { const start = performance.now(); draw(); spent += performance.now() - start; };
    for (let i = 0; i < frames; i++) {
        const share = Math.abs(((i / 60) % 2) - 1), start = performance.now();
        input.value = low + share * (high - low);
        input.dispatchEvent(new Event('input', { bubbles: true }));
        spent = performance.now() - start;
        await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
        times.push(spent);
    }
    lens.solveAndDraw = draw;
    return times;
}"""
ANEW = """(splits) => {
    const lens = document.querySelector('.lens').lens, { task } = lens, times = [];
    for (const { modules, moduleOf } of lens.data.partitions) {
        for (let round = 0; round < 5; round++) {
            const family = newFamily(task, moduleOf, splits, lens.knobs, new Array(task.past).fill(1), lens.strengths);
            const start = performance.now();
            solveFamily(family, task.order);
            times.push([modules, performance.now() - start]);
        }
    }
    return times;
}"""


def open_lens(page: Page) -> None:
    """The component alone, in a page without a server."""
    scripts = "\n".join((FOLDER / f"{name}.js").read_text() for name in LENS_SCRIPTS).replace("export default ", "")
    scripts = scripts.replace("function ({ parentElement", "function mount({ parentElement")
    css, data = (FOLDER / "lens.css").read_text(), json.dumps(payload(example_recordings(), "example"))
    page.set_content(f"<style>{css}</style><body class=standalone><div class=lens></div>")
    page.add_script_tag(content=f"{scripts}\nnew Lens(document.querySelector('.lens'), {data});")
    page.wait_for_function("!document.querySelector('.lens').lens.frame")


def main() -> None:
    results: dict[str, float] = {}
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1200})
        open_lens(page)
        snapshots = page.evaluate("document.querySelector('.lens').lens.task.snapshots.length")
        print(f"\nThe lens: milliseconds of scripts per frame, {snapshots} recorded steps (wanted: 95 % within {WANTED})")
        for name in ("Strength", "Modules", "Splits", "From step"):
            times = np.array(page.evaluate(DRAG, [name, 300]))
            results[f"{name}, 95 %"] = slow = float(np.quantile(times, 0.95))
            share = 100 * (times <= WANTED).mean()
            print(f"  drag {name:<10} median {np.median(times):5.1f}   95 % {slow:5.1f}   in time {share:.0f} %")
        for splits in (1, 6):
            found = np.array(page.evaluate(ANEW, splits))
            for modules in sorted(set(found[:, 0])):
                best = float(found[found[:, 0] == modules, 1].min())
                results[f"solve {modules:g} modules, {splits} splits"] = best
                print(f"  one family solved anew, {modules:g} modules, {splits} splits: {best:.1f}")
        browser.close()
    save("lens frames", results)


if __name__ == "__main__":
    main()
