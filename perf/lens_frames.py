"""The lens in a browser: times of frames while its sliders are dragged, and of solving one family anew."""

import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np
from playwright.sync_api import CDPSession, Page, sync_playwright

from perf.dashboard import FLAGS
from perf.timing import save

sys.path.insert(0, str(Path(__file__).parents[1] / "app"))  # as Streamlit does
from explore.component import SOURCES
from explore.example import example_messages

WANTED = 16  # milliseconds within which 95 % of the frames should come
FRAMES = 300
DRAGGED = ("Strength", "Modules", "Splits", "From step")
# In each frame a slider moves. `script` is the time for handling the event, solving and drawing; `interval` the time from
# one frame to the next as the browser paints them, 16.7 at 60 frames per second. Both include waiting for a busy core.
DRAG = """async ([name, frames]) => {
    const lens = document.querySelector('.lens').lens, script = [], interval = [];
    const input = document.querySelector(`input[aria-label="${name}"]`), low = Number(input.min), high = Number(input.max);
    const draw = lens.solveAndDraw.bind(lens), nextFrame = () => new Promise(requestAnimationFrame);
    let spent = 0, last = await nextFrame();
    lens.solveAndDraw = () => { const start = performance.now(); draw(); spent += performance.now() - start; };
    for (let i = 0; i < frames; i++) {
        const share = Math.abs(((i / 60) % 2) - 1), start = performance.now();
        input.value = low + share * (high - low);
        input.dispatchEvent(new Event('input', { bubbles: true }));
        spent = performance.now() - start;
        const now = await nextFrame();
        script.push(spent);
        interval.push(now - last);
        last = now;
    }
    lens.solveAndDraw = draw;
    return { script, interval };
}"""
ANEW = """(splits) => {
    const lens = document.querySelector('.lens').lens, { task } = lens, times = [];
    for (const { modules, moduleOf } of lens.data.partitions) {
        for (let round = 0; round < 5; round++) {
            const weights = new Array(task.past).fill(1);
            const family = newFamily(task, moduleOf, splits, lens.restriction, weights, lens.strengths);
            const start = performance.now();
            solveFamily(family, task.order);
            times.push([modules, performance.now() - start]);
        }
    }
    return times;
}"""


def open_lens(page: Page) -> None:
    """Open the component alone, in a page without a server."""
    scripts = SOURCES["js"].replace("export default function (", "function mount(")
    page.set_content(f"<style>{SOURCES['css']}</style><body class=standalone><div class='interactive lens'></div>")
    options = json.dumps({"messages": example_messages()})
    page.add_script_tag(content=f"{scripts}\nnew Workbench(document.querySelector('.lens'), {options});")
    page.wait_for_function("!document.querySelector('.lens').lens.frame")


def cpu_seconds(session: CDPSession) -> float:
    """CPU time of the page's main thread so far, for scripts, styles, layout and painting."""
    metrics = {one["name"]: one["value"] for one in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def measure_drags(page: Page) -> dict[str, float]:
    """Quantiles of the times of 300 frames, five seconds at best, for each slider; and with all rules drawn as well.

    The mean CPU time of a frame depends least on what else the machine does.
    """
    results: dict[str, float] = {}
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    for rules in ("", "all rules, "):
        if rules:
            page.evaluate("document.querySelector('.lens').lens.change({ rules: Object.keys(RULES) })")
            page.wait_for_function("!document.querySelector('.lens').lens.frame")
        for name in DRAGGED:
            before = cpu_seconds(session)
            found = page.evaluate(DRAG, [name, FRAMES])
            results[f"{rules}{name}, CPU, mean"] = cpu = 1000 * (cpu_seconds(session) - before) / FRAMES
            texts = [f"CPU {cpu:5.1f}"]
            for kind in ("script", "interval"):
                times = np.array(found[kind])
                half, most = (float(value) for value in np.quantile(times, [0.5, 0.95]))
                results |= {f"{rules}{name}, {kind}, 50 %": half, f"{rules}{name}, {kind}, 95 %": most}
                texts.append(f"{kind} 50 % {half:5.1f}   95 % {most:5.1f}")
            share = 100 * (np.array(found["script"]) <= WANTED).mean()
            print(f"  {rules + name:<22} {'   '.join(texts)}   scripts in time {share:.0f} %", flush=True)
    return results


def main() -> None:
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        page = browser.new_page(viewport={"width": 1280, "height": 1200})
        open_lens(page)
        snapshots = page.evaluate("document.querySelector('.lens').lens.task.snapshots.length")
        load = os.getloadavg()[0]
        print(f"\nThe lens: milliseconds per frame while a slider is dragged, {snapshots} recorded steps")
        print(f"(wanted: 95 % of the scripts within {WANTED}; {os.cpu_count()} cores, load {load:.1f} before this)")
        results = {"load": load, **measure_drags(page)}
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
