// A screen that shows the fleet by a link (templates/staff/kiosk). It asks for its part again every few
// seconds. While the panel does not answer, it says since when, and hides figures that are not current.
const EVERY = 10_000;
const PATIENCE = 8000; // for one answer
const OLD = 30_000; // a screen that slept shows nothing older
const GONE = 404;

const place = document.querySelector("[data-kiosk]");
const banner = document.querySelector("[data-kiosk-lost]");
const filesOf = (part) => part.querySelector("[data-kiosk-files]")?.dataset.kioskFiles;
const files = filesOf(place);
let seenAt = Date.now();

const lose = (words) => {
  place.toggleAttribute("data-stale", true);
  banner.textContent = words;
  banner.hidden = false;
};

const clock = () => place.querySelector("[data-kiosk-clock]").dataset.kioskClock;

const show = (html) => {
  const fresh = document.createElement("template");
  fresh.innerHTML = html;
  if (!filesOf(fresh.content)) return lose(`No connection since ${clock()}`); // an answer of something else
  if (filesOf(fresh.content) !== files) return location.reload(); // the panel is another version
  place.replaceChildren(fresh.content);
  for (const name of ["data-stale", "data-ended"]) place.toggleAttribute(name, false);
  banner.hidden = true;
  seenAt = Date.now();
};

const end = () => {
  lose("This link has ended. Ask an admin for a new one.");
  place.toggleAttribute("data-ended", true);
};

const renew = async () => {
  try {
    const answer = await fetch(place.dataset.kiosk, { signal: AbortSignal.timeout(PATIENCE) });
    if (answer.status === GONE) end();
    else if (answer.ok) show(await answer.text());
    else lose(`No connection since ${clock()}`);
  } catch {
    lose(`No connection since ${clock()}`);
  }
  setTimeout(renew, EVERY);
};

setTimeout(renew, EVERY);
setInterval(() => {
  if (Date.now() - seenAt > OLD && banner.hidden) lose(`No connection since ${clock()}`);
}, 1000);
