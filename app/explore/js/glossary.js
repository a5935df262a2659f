// What the symbols mean: a list behind a button, and texts for the titles of axes.
import { element } from "../../components/svg.js";

export const TERMS = {
  "g, g_t": "the gradient of the current task’s loss: on the batch of a step (g), and on its training set (g_t)",
  "g_s, ĝ_s": "the gradient of a past task’s loss: on its training set (g_s), and on the samples in memory (ĝ_s)",
  "true gradients": "g_t and g_s. By default they are measured on 400 images of a training set, drawn again at each step",
  z: "the restricted update: the parameters move by −(learning rate) · z. Without restriction, z = g",
  "⟨g_s,z⟩": "retention: how much a step lowers the loss of the past task; negative means that it forgets",
  "⟨g_t,z⟩": "learning: how much a step lowers the loss of the current task",
  "q": "memory strength: the least weight with which each memory gradient is added to g (the floor of the paper’s dual)",
  "margin γ": "another meaning of the strength: the least value of ⟨ĝ_s,z⟩",
  "‖z‖": "the length of z; per ‖z‖, steps of different lengths can be compared",
  "recorded step": "a step of a GEM run at which all gradients are stored, to compute other restrictions",
  "modules": "groups of parameters that are restricted separately (p-mGEM)",
  "splits": "parts of each past task’s memory, with a constraint each (d-mGEM)",
  "md-GEM(D,K)": "D modules and K splits together; approx-GEM solves it approximately, without a quadratic program",
  "replay, ER, Single": "g plus memory gradients; training on batch and memory together; plain SGD without memory",
  "convention": "when a step is restricted (only on conflict, or always), and how long z is",
  "collapsed": "the runs end with an accuracy near chance, because their steps are too long",
  "equal retention": "two lines are compared where their ⟨g_s,z⟩ is the same, because equal q is not equal strength",
  "knee": "the point of a curve that is farthest above the straight line between its ends",
  "ACC, FWD, BWD": "mean final accuracy; mean accuracy just after learning each task; and their difference, ACC − FWD",
  Forgetting: "mean fall from the best accuracy on each earlier task, before the last task, to its final one; never tested",
  "95 % CI": "95 % confidence interval over seeds (Student’s t)",
  significant: "the difference is not zero, by a t test corrected for all comparisons (Holm), with at least four seeds",
};

export function buildGlossary() {
  const entries = Object.entries(TERMS).flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)]);
  return menu("Symbols", element("dl", { class: "glossary" }, ...entries));
}

// A button that opens a box below it; a click elsewhere or the Escape key closes it.
export function menu(title, ...content) {
  const box = element("details", { class: "menu" }, element("summary", {}, title), element("div", {}, ...content));
  const closeElsewhere = (event) => box.contains(event.target) || (box.open = false);
  box.ontoggle = () => {
    const change = box.open ? "addEventListener" : "removeEventListener";
    document[change]("pointerdown", closeElsewhere);
  };
  box.onkeydown = (event) => {
    if (event.key !== "Escape" || !box.open) return;
    box.open = false;
    box.querySelector("summary").focus();
  };
  return box;
}
