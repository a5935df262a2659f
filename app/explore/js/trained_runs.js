// Receives trained runs from the server apart from the recorded steps, which then need not be sent again, and gives them to
// the lens of the same page. A lens that is built later finds them at the element of this component.
export default function ({ parentElement, data }) {
  const trained = JSON.parse(data);
  parentElement.querySelector(".trained-runs").trained = trained;
  document.querySelector(".lens")?.lens?.setTrained(trained);
}
