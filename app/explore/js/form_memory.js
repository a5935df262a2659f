// Keeps the edited form for this tab. A reload starts a new session, whose first picture must already have the form:
// so the page hands it over in a cookie, which comes with the first request and expires soon.
const NAME = "mgem-form";

function handOver() {
  const form = sessionStorage.getItem(NAME);
  if (form) document.cookie = `${NAME}=${encodeURIComponent(form)}; max-age=60; path=/; samesite=strict`;
}

export default function ({ data: { form } }) {
  if (form) sessionStorage.setItem(NAME, form);
  addEventListener("pagehide", handOver);
}
