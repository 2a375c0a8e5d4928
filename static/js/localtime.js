// Times of customers' pages: <time data-local> is written in UTC; here it becomes the browser's own
// time zone, which it then names. So does the time that an age ("3 min ago") shows to who points at it.
(() => {
  const day = { day: "numeric", month: "long", year: "numeric" };
  const clock = { hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
  const styles = { long: { ...day, ...clock }, short: { ...day, month: "short", ...clock }, date: day };

  const exact = { ...styles.short, second: "2-digit" };

  function renew(root) {
    const language = document.documentElement.lang === "en" ? "en-GB" : document.documentElement.lang;
    for (const time of root.querySelectorAll("time[data-local]")) {
      const at = new Date(time.dateTime);
      const text = new Intl.DateTimeFormat(language, styles[time.dataset.local]).format(at);
      if (time.textContent !== text) time.textContent = text;
    }
    if (!("localTimes" in document.body.dataset)) return;
    for (const time of root.querySelectorAll("time[title]")) {
      time.title = new Intl.DateTimeFormat(language, exact).format(new Date(time.dateTime));
    }
  }

  document.addEventListener("DOMContentLoaded", () => renew(document));
  document.addEventListener("htmx:after:swap", () => renew(document));
})();
