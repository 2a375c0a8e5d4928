// The charts of <section data-benchmark>: its figures come with the page, and finer ones are fetched for
// a time that a person zooms into. Without this script the page has its tables.
import { figureOf } from "./benchmark/figure.js";
import { listen } from "./benchmark/marker.js";

const start = (section) => {
  const { charts, texts } = JSON.parse(document.getElementById("benchmark-answer").textContent);
  const reset = section.querySelector("[data-reset]");
  const trouble = section.querySelector("[data-trouble]");
  let asked = 0;

  const show = async (from, to) => {
    const turn = ++asked;
    try {
      const time = from === null ? "" : `?from=${from.toFixed(1)}&to=${to.toFixed(1)}`;
      const answer = await fetch(section.dataset.seriesUrl + time);
      if (!answer.ok) throw new Error(answer.statusText);
      const finer = (await answer.json()).charts;
      if (turn !== asked) return; // a later choice is on its way
      for (const figure of timed) figure.take(finer.find(({ name }) => name === figure.chart.name));
      reset.hidden = from === null;
      trouble.hidden = true;
    } catch {
      if (turn === asked) trouble.hidden = false;
    }
  };

  const figures = charts.map((chart) => {
    const element = section.querySelector(`[data-benchmark-chart="${chart.name}"]`);
    return figureOf(element, chart, texts, chart.across === "time" ? show : null);
  });
  const timed = figures.filter(({ chart }) => chart.across === "time");

  for (const figure of figures) {
    const linked = timed.includes(figure) ? timed : [figure];
    listen(figure, (x) => requestAnimationFrame(() => linked.forEach((each) => each.point(x))));
    figure.element.addEventListener("click", ({ target }) => {
      const line = target.closest("[data-line]")?.dataset.line;
      const scale = target.closest("[data-log]");
      if (line) figure.toggle(line);
      if (target.closest("[data-chart-png]")) figure.save();
      if (scale) {
        figure.isLog = !figure.isLog;
        scale.setAttribute("aria-pressed", String(figure.isLog));
        figure.draw();
      }
    });
    figure.draw();
  }
  reset.addEventListener("click", () => show(null, null));
  const redraw = () => figures.forEach((figure) => figure.draw());
  new MutationObserver(redraw).observe(document.documentElement, { attributeFilter: ["data-bs-theme"] });
};

document.querySelectorAll("[data-benchmark]").forEach(start);
