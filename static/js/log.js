// The output of a job: follows its end until the reader scrolls away, wraps or not, leads to lines.
// Without it the output is all there, and its end comes by a reload.
import * as stored from "./stored.js";

document.addEventListener("DOMContentLoaded", () => {
  const log = document.querySelector("[data-log]");
  if (!log || !document.querySelector("[data-log-follow]")) return;
  const list = log.querySelector("ol");
  const followButton = document.querySelector("[data-log-follow]");
  const newCount = document.querySelector("[data-log-new]");
  const wrapButton = document.querySelector("[data-log-wrap]");
  let isFollowing = true;
  let last = 0;
  let waiting = 0;

  const counterOf = (line) => Number(line.id?.slice(1)) || 0;
  const isAtEnd = () => log.scrollHeight - log.scrollTop - log.clientHeight < 24;
  const toEnd = () => {
    log.scrollTop = log.scrollHeight;
  };

  function follow(on) {
    isFollowing = on;
    if (on) waiting = 0;
    followButton.setAttribute("aria-pressed", String(on));
    newCount.textContent = waiting ? ` (${waiting} new)` : "";
    log.setAttribute("aria-live", on ? "polite" : "off");
  }

  function wrap(on) {
    log.classList.toggle("log-long", !on);
    wrapButton.setAttribute("aria-pressed", String(on));
  }

  function findLine() {
    const named = /^#L([1-9][0-9]{0,8})$/.exec(location.hash);
    if (!named) return false;
    if (document.getElementById(`L${named[1]}`)) {
      follow(false);
      return true;
    }
    // An earlier line: a page that begins there has it, if there is one at all.
    const there = `${log.dataset.logPage}?line=${named[1]}`;
    if (Number(named[1]) < last && location.pathname + location.search !== there) {
      location.replace(there + location.hash);
    }
    return false;
  }

  followButton.addEventListener("click", () => {
    follow(!isFollowing);
    if (isFollowing) toEnd();
  });
  wrapButton.addEventListener("click", () => {
    wrap(log.classList.contains("log-long"));
    stored.write("log-wrap", wrapButton.getAttribute("aria-pressed"));
    if (isFollowing) toEnd();
  });
  log.addEventListener("scroll", () => {
    if (isAtEnd() !== isFollowing) follow(isAtEnd());
  });
  window.addEventListener("hashchange", findLine);

  new MutationObserver((changes) => {
    const added = changes.flatMap((change) => [...change.addedNodes]).map(counterOf);
    const fresh = added.filter((n) => n > last);
    if (!fresh.length) return;
    last = Math.max(...fresh);
    log.querySelector(".log-nothing")?.remove();
    if (isFollowing) {
      toEnd();
    } else {
      waiting += fresh.length;
      newCount.textContent = ` (${waiting} new)`;
    }
  }).observe(list, { childList: true });

  last = Math.max(0, ...[...list.children].map(counterOf));
  wrap(stored.read("log-wrap") !== "false");
  for (const button of [followButton, wrapButton, document.querySelector("[data-log-copy]")]) {
    button.hidden = false;
  }
  if (findLine()) document.querySelector(location.hash).scrollIntoView({ block: "center" });
  else toEnd();
});
