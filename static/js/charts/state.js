// What of a picture is in the page's URL, beside its time: the zone, hidden lines, folded charts. So a
// link shows the same picture.
export const read = (name) => new URLSearchParams(location.search).get(name);

export const list = (name) => new Set((read(name) ?? "").split(",").filter(Boolean));

// Each name of `changes` with its text, or null to leave it out.
export const write = (changes) => {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  history.replaceState(history.state, "", `?${query}${location.hash}`);
  document.dispatchEvent(new Event("charts:state"));
};
