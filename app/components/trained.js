// Brings what was trained to the lens on the same page, so that its recorded steps need not be sent again.
export default function ({ data }) {
  globalThis.lensTrained = JSON.parse(data);
  document.querySelector(".lens")?.lens?.setTrained(globalThis.lensTrained);
}
