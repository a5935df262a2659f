// Keeps the edited form for this tab, because a reload starts a new session without it.
const NAME = "mgem form";

export default function ({ data: { sweep, values, edited }, setStateValue }) {
  const stored = JSON.parse(sessionStorage.getItem(NAME) ?? "{}");
  if (edited) sessionStorage.setItem(NAME, JSON.stringify({ sweep, values }));
  else if (stored.sweep === sweep && stored.values !== values) setStateValue("restored", stored.values);
}
