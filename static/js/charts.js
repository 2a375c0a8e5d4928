// Draws the charts of <section data-charts>. Panels are described by the server (storage/charts.py)
// in each figure's data-panel; figures and job marks come from the section's two URLs. Without this
// script the section keeps its summary, its range links and its table.
(() => {
  const root = document.documentElement;
  const BINARY = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  const DASHES = { dashed: [6, 4], dotted: [2, 3] };
  const MINUTE = 60_000;
  const TICK_MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 240, 480, 720, Infinity];
  const LEFT_WIDTH = 62; // the same in every panel, so that equal times stand above each other

  // A canvas does not understand light-dark() or oklch(): one pixel of the colour tells its bytes.
  const pixel = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const colour = (name, alpha = 1) => {
    root.style.setProperty("outline-color", `var(--tblr-${name})`);
    pixel.clearRect(0, 0, 1, 1);
    pixel.fillStyle = getComputedStyle(root).outlineColor;
    pixel.fillRect(0, 0, 1, 1);
    const [red, green, blue, whole] = pixel.getImageData(0, 0, 1, 1).data;
    root.style.removeProperty("outline-color");
    return `rgba(${red}, ${green}, ${blue}, ${(alpha * whole) / 255})`;
  };
  const clock = (at) => new Date(at).toLocaleTimeString("en-GB");
  const zone = () =>
    new Date().toLocaleTimeString("en", { timeZoneName: "longOffset" }).replace(/.*GMT/, "UTC");
  const number = (value) =>
    value.toLocaleString("en", { maximumFractionDigits: Math.abs(value) < 10 ? 2 : 0 });

  // The factor and the unit that make the axis of these values readable.
  const unitOf = (scale, values) => {
    if (scale === "per_second") return { factor: 1, unit: "1/s" };
    if (scale === "ms") return { factor: 1, unit: "ms" };
    if (scale === "percent") return { factor: 100, unit: "%" };
    const largest = values.reduce((most, value) => Math.max(most, value ?? 0), 0);
    const power = Math.min(BINARY.length - 1, Math.floor(Math.log2(Math.max(1, largest)) / 10));
    return { factor: 1 / 1024 ** power, unit: BINARY[power] + (scale === "speed" ? "/s" : "") };
  };

  const axisOptions = (axis, unit) => {
    const below = axis.place === "below";
    const brief = below || !axis.title || innerWidth < 576;
    return {
      position: axis.place === "right" ? "right" : "left",
      min: 0,
      max: axis.scale === "percent" ? 100 : undefined,
      grace: below ? "30%" : 0,
      stack: "left",
      stackWeight: below ? 1 : 3,
      weight: below ? 1 : 2,
      title: {
        display: true,
        text: brief ? unit : `${axis.title}, ${unit}`,
        color: colour("secondary"),
      },
      ticks: {
        color: colour("secondary"),
        maxTicksLimit: below ? 4 : 6,
        // The top of the axis below is the bottom of the one above, which says 0 there.
        callback: (value, n, all) => (below && n && n === all.length - 1 ? "" : number(value)),
      },
      grid: { color: colour("border-color"), drawOnChartArea: axis.place !== "right" },
      border: { display: false },
      afterFit: (scale) => {
        if (axis.place !== "right") scale.width = LEFT_WIDTH;
      },
    };
  };

  const annotations = (marks, series) => {
    const shown = marks.filter((mark) => Date.parse(mark.at) <= series.end);
    return shown.map((mark, n) => {
      const borderColor = colour(mark.state === "failed" ? "red" : "primary");
      const label = {
        display: shown.length <= (innerWidth < 576 ? 3 : 6),
        content: mark.label,
        position: "start",
        yAdjust: (n % 3) * 22, // neighbours' labels do not cover each other
        backgroundColor: colour("bg-surface"),
        borderColor,
        borderWidth: 1,
        color: colour("body-color"),
        font: { size: 11, weight: "normal" },
        padding: { x: 4, y: 2 },
      };
      const line = { type: "line", scaleID: "x", value: Date.parse(mark.at), borderWidth: 1 };
      return { ...line, borderColor, borderDash: [4, 3], label };
    });
  };

  // Round local times, as many as there is room for.
  const timeTicks = ({ min, max, width }) => {
    const shift = new Date(max).getTimezoneOffset() * MINUTE;
    const step = TICK_MINUTES.find((n) => (max - min) / (n * MINUTE) <= width / 60) * MINUTE;
    const first = Math.ceil((min - shift) / step) * step + shift;
    const count = Math.max(0, Math.floor((max - first) / step) + 1);
    return Array.from({ length: count }, (_, n) => ({ value: first + n * step }));
  };

  const configuration = (panel, series, marks) => {
    const scaled = panel.axes.map((axis, n) => {
      const lines = panel.lines.filter((line) => line.axis === n);
      return unitOf(axis.scale, lines.flatMap((line) => series.series[line.name]));
    });
    const datasets = panel.lines
      .filter((line) => series.series[line.name].some((value) => value !== null))
      .map((line) => ({
        label: line.label,
        unit: scaled[line.axis].unit,
        yAxisID: `y${line.axis}`,
        data: series.series[line.name].map((value, n) => ({
          x: series.start + (n + 0.5) * series.step,
          y: value === null ? null : value * scaled[line.axis].factor,
        })),
        borderColor: colour(line.colour),
        backgroundColor: colour(line.colour, line.dash === "filled" ? 0.2 : 1),
        fill: line.dash === "filled" ? "origin" : false,
        borderDash: DASHES[line.dash] ?? [],
        borderWidth: 1.5,
        // A point between two gaps has no line to be seen by.
        pointRadius: series.series[line.name].map((value, n, all) =>
          value !== null && (all[n - 1] ?? null) === null && (all[n + 1] ?? null) === null ? 2 : 0,
        ),
        pointHitRadius: 8,
        spanGaps: false,
      }));
    const scales = Object.fromEntries(
      panel.axes.map((axis, n) => [`y${n}`, axisOptions(axis, scaled[n].unit)]),
    );
    scales.x = {
      type: "time",
      min: series.start,
      max: series.end,
      afterBuildTicks: (axis) => void (axis.ticks = timeTicks(axis)),
      ticks: { color: colour("secondary"), maxRotation: 0, callback: (at) => clock(at).slice(0, 5) },
      grid: { color: colour("border-color") },
      title: { display: true, text: series.zone, color: colour("secondary") },
    };
    const tooltip = {
      callbacks: {
        title: (items) => clock(items[0].parsed.x),
        label: (item) => `${item.dataset.label}: ${number(item.parsed.y)} ${item.dataset.unit}`,
      },
    };
    const labels = { color: colour("body-color"), boxWidth: 24, boxHeight: 0, padding: 10 };
    const options = {
      animation: false,
      maintainAspectRatio: false,
      interaction: { mode: "index", intersect: false },
      scales,
      plugins: {
        legend: { align: "start", labels },
        tooltip,
        annotation: { annotations: annotations(marks, series) },
      },
    };
    return { data: { datasets }, options };
  };

  // What a reader who does not see the canvas is told: the last known value of each line.
  const spoken = (panel, series) => {
    const parts = panel.lines.flatMap((line) => {
      const values = series.series[line.name];
      const last = values.findLast((value) => value !== null);
      if (last === undefined) return [];
      const { factor, unit } = unitOf(panel.axes[line.axis].scale, values);
      return [`${line.label} ${number(last * factor)} ${unit}`];
    });
    return `${panel.title}. Last: ${parts.join(", ") || "not known"}.`;
  };

  const start = (section) => {
    const part = (name) => section.querySelector(`[data-charts-${name}]`);
    const figures = [...section.querySelectorAll("[data-panel]")].map((element) => ({
      element,
      canvas: element.querySelector("canvas"),
      panel: JSON.parse(element.dataset.panel),
      chart: null,
    }));
    let series = null;
    let marks = [];

    const draw = () => {
      if (series === null) return;
      for (const figure of figures) {
        if (figure.element.hidden) continue;
        const { data, options } = configuration(figure.panel, series, marks);
        figure.chart ??= new Chart(figure.canvas, { type: "line", data, options });
        Object.assign(figure.chart, { data, options });
        figure.chart.update("none");
        figure.canvas.setAttribute("aria-label", spoken(figure.panel, series));
      }
    };

    const listMarks = () => {
      const items = marks.map((mark) => {
        const item = document.createElement("li");
        const name = document.createElement(mark.url ? "a" : "span");
        if (mark.url) name.href = mark.url;
        name.textContent = mark.label;
        item.append(name, `, ${clock(mark.at)}, ${mark.state.replace("_", " ")}`);
        return item;
      });
      part("marks").replaceChildren(...items);
      part("marks").hidden = items.length === 0;
    };

    const show = (answer) => {
      const t0 = Date.parse(answer.t0);
      const step = answer.step_seconds * 1000;
      series = { ...answer, start: t0, step, end: t0 + answer.points * step, zone: zone() };
      const empty = answer.totals.covered_seconds === 0;
      part("empty").hidden = !empty;
      part("summary").textContent = answer.summary;
      part("summary").hidden = empty;
      part("panels").hidden = empty;
      part("no-cache").hidden = empty || answer.has_cache;
      for (const figure of figures) {
        figure.element.hidden = "ofCache" in figure.element.dataset && !answer.has_cache;
      }
      listMarks();
      if (!empty) draw();
    };

    const fetched = async (url) => {
      const response = await fetch(url, { headers: { Accept: "application/json" } });
      if (!response.ok) throw new Error(`${response.status}`);
      return response.json();
    };

    const refresh = async () => {
      if (document.hidden) return;
      try {
        const answers = [fetched(section.dataset.seriesUrl), fetched(section.dataset.marksUrl)];
        const [answer, found] = await Promise.all(answers);
        marks = found.marks;
        part("trouble").hidden = true;
        show(answer);
      } catch {
        part("trouble").hidden = false;
      }
    };

    refresh();
    setInterval(refresh, 1000 * Math.max(5, Number(section.dataset.refreshSeconds)));
    document.addEventListener("visibilitychange", refresh);
    new MutationObserver(draw).observe(root, { attributeFilter: ["data-bs-theme"] });
  };

  document.querySelectorAll("[data-charts]").forEach(start);
})();
