// Draws what a figure of html/chart.html has in its data-chart, by uPlot: axes, hover, zoom, keys. All of a page's charts show the same range of time, but
// for those with data-apart, which are of another one.
// Names are text of others: they become text nodes, and nothing else.
"use strict";
(() => {
  // What is wider than its place is reached by the keyboard too, so that all of it is.
  const scrolls = new ResizeObserver((all) => {
    for (const { target } of all) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  for (const place of document.querySelectorAll(".wide, pre")) scrolls.observe(place);

  const places = [...document.querySelectorAll("[data-chart]")];
  if (!places.length) return;
  if (typeof uPlot === "undefined") {
    for (const place of places) {
      place.className = "bad";
      place.textContent = "This chart cannot be drawn: uPlot did not come with the page. Setting up again brings it. The table has the figures.";
      place.closest("figure")?.querySelector("details")?.setAttribute("open", "");
    }
    return;
  }

  const DAY = 86400;
  const LEAST_PX = 2; // one record of a million is seen, too
  const ZONE = "sluice-zone";
  const steps = (from, to) => Array.from({ length: to - from + 1 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** (from + power))).flat();
  const LASTING = [[DAY, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const compact = new Intl.NumberFormat("en", { notation: "compact", maximumSignificantDigits: 3 });
  const exact = new Intl.NumberFormat("en", { maximumSignificantDigits: 15 });
  const rounded = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

  const bytes = (value) => {
    const power = Math.min(4, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10));
    return `${rounded.format(value / 1024 ** power)} ${["B", "KiB", "MiB", "GiB", "TiB"][power]}`;
  };
  const lasting = (seconds) => {
    const place = LASTING.findIndex(([size]) => Math.abs(seconds) >= size);
    if (place < 0 || place === 3) return `${rounded.format(seconds)} s`;
    const [[size, unit], [below, smaller]] = [LASTING[place], LASTING[place + 1]];
    const rest = Math.floor((seconds % size) / below);
    return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${smaller}` : ""}`;
  };
  const tens = steps(0, 15).filter((_, at) => at % 3 === 0);
  const count = { tick: (value) => compact.format(value), exact: (value) => exact.format(value), steps: steps(0, 15), log: tens };
  const UNITS = {
    records: count,
    rows: count,
    number: { ...count, steps: steps(-9, 15), log: tens },
    bytes: { tick: bytes, exact: (value) => `${bytes(value)} (${exact.format(value)} bytes)`, steps: Array.from({ length: 50 }, (_, power) => 2 ** power), log: Array.from({ length: 10 }, (_, power) => 32 ** power) },
    seconds: { tick: lasting, exact: lasting, steps: [...steps(-3, -1), 1, 2, 5, 10, 15, 30, ...[1, 2, 5, 10, 15, 30].map((each) => 60 * each), ...[1, 2, 3, 6, 12].map((each) => 3600 * each), ...steps(0, 4).map((each) => DAY * each)], log: [1, 10, 60, 600, 3600, 6 * 3600, DAY, 10 * DAY, 100 * DAY] },
    share: { tick: (value) => `${compact.format(100 * value)} %`, exact: (value) => `${exact.format(Number((100 * value).toPrecision(6)))} %`, steps: steps(-9, 0), log: tens },
  };
  const day = "\n{D} {MMM}";
  const TIMES = [ // a tick by the distance of two, and what its first of a year and of a day has below
    [365 * DAY, "{YYYY}", null, null, null, null, null, null, 1],
    [28 * DAY, "{MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [DAY, "{D} {MMM}", "\n{YYYY}", null, null, null, null, null, 1],
    [60, "{HH}:{mm}", `${day} {YYYY}`, null, day, null, null, null, 1],
    [1, "{HH}:{mm}:{ss}", `${day} {YYYY}`, null, day, null, null, null, 1],
    [0.001, "{ss}.{fff}", `${day} {HH}:{mm}`, null, day, null, "\n{HH}:{mm}", null, 1],
  ];

  const kept = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const keep = (name, value) => { try { localStorage.setItem(name, value); } catch { /* a frame without storage: until the page is left */ } };
  // The zone beside UTC: that of Airflow's UI, if a person has chosen one there; else the browser's.
  const named = (zone) => new Intl.DateTimeFormat("en", { timeZone: zone }).resolvedOptions().timeZone;
  const chosen = (() => {
    try {
      const zone = named(JSON.parse(kept("timezone")) ?? "UTC");
      return zone === "UTC" ? null : zone;
    } catch { return null; } // it is no zone of this browser's
  })();
  const home = chosen ?? named(undefined);
  let local = (kept(ZONE) ?? (chosen ? "local" : "UTC")) === "local";
  const zone = () => (local ? home : "UTC");
  const moment = (seconds) => new Intl.DateTimeFormat("sv-SE", { dateStyle: "short", timeStyle: "medium", timeZone: zone() }).format(new Date(1000 * seconds));

  const element = (name, className, ...inside) => {
    const made = document.createElement(name);
    made.className = className;
    made.append(...inside);
    return made;
  };
  const says = element("p", "unseen");
  says.setAttribute("role", "status");
  const tip = element("div", "tip");
  tip.hidden = true;
  tip.setAttribute("aria-hidden", "true");
  document.body.append(says, tip);

  class Drawn {
    constructor(place) {
      this.place = place;
      this.it = JSON.parse(place.dataset.chart);
      this.unit = UNITS[this.it.unit];
      this.small = "small" in place.dataset;
      this.apart = apart(place);
      this.stacked = this.it.form === "stacked" && !this.it.log;
      this.x = this.small ? this.it.x.map((_, at) => at) : this.it.x;
      this.at = this.x.length;
      const most = Math.max(...this.x.map((_, at) => this.of(at).reduce((sum, [, value]) => (this.stacked ? sum + value : Math.max(sum, value)), 0)));
      this.least = this.it.log ? 0 : (most * LEAST_PX) / Math.max(40, place.clientHeight - 60);
      this.order = this.it.series.map((_, at) => at);
      if (this.stacked) this.order.reverse(); // the highest sum first: what is below it is drawn over it
      this.u = new uPlot(this.options(), [this.x, ...this.order.map((at) => this.column(at))], place);
      new ResizeObserver(() => this.u.setSize(this.size())).observe(place);
      if (!this.small) this.listen();
      if (this.apart && !this.small) this.all();
    }

    show(from, to) {
      if (this.apart) this.u.setScale("x", { min: from, max: to });
      else show(from, to);
    }

    all() {
      if (!this.apart) return range_all();
      const [from, to] = [this.x[0], this.x.at(-1)];
      const edge = Math.max(30, (0.6 * (to - from)) / this.x.length);
      this.show(from - edge, to + edge);
    }

    size() {
      return { width: this.place.clientWidth, height: this.place.clientHeight };
    }

    // The series at a point that have a value there.
    of(at) {
      return this.it.series.map(({ label, values, kind }) => [label, values[at], kind]).filter(([, value]) => value !== null);
    }

    // What is drawn of a series: in a stack the sum of it and of those below.
    column(of) {
      const seen = (value) => (this.it.form !== "line" && value ? Math.max(value, this.least) : value);
      if (!this.stacked) return this.it.series[of].values.map(seen);
      const parts = this.it.series.slice(0, of + 1);
      return this.x.map((_, at) => (parts[of].values[at] === null ? null : parts.reduce((sum, part) => sum + seen(part.values[at] ?? 0), 0)));
    }

    colour(name) {
      return getComputedStyle(this.place).getPropertyValue(name);
    }

    ofKind(kind) { // as the legend has it
      const probe = element("i", kind);
      this.place.append(probe);
      const found = getComputedStyle(probe).getPropertyValue("--kind");
      probe.remove();
      return found;
    }

    options() {
      const { it, unit, small } = this;
      const text = () => this.colour("--text");
      const line = { stroke: () => this.colour("--line"), width: 1 };
      const axis = { stroke: text, grid: line, ticks: line, font: "12px system-ui, sans-serif", labelFont: "12px system-ui, sans-serif" };
      const lowest = it.series.flatMap(({ values }) => values).reduce((least, value) => Math.min(least, value ?? 0), 0);
      const highest = Math.max(0, ...it.bounds.map(({ value }) => value));
      return {
        ...this.size(),
        padding: small ? [2, 0, 0, 0] : [12, 12, 0, 0],
        legend: { show: false },
        tzDate: (seconds) => uPlot.tzDate(new Date(1000 * seconds), local ? home : "Etc/UTC"),
        cursor: { show: !small, x: true, y: false, drag: { x: true, y: false }, points: { show: it.form === "line" } },
        scales: {
          x: { time: !small, range: (_, from, to) => (small ? [-0.5, this.x.length - 0.5] : [from, to]) },
          y: { distr: it.log ? 4 : 1, range: (_, low, high) => [lowest, Math.max(high ?? 0, highest) * (it.log ? 1.6 : 1.08) || 1] },
        },
        axes: small ? [{ show: false }, { show: false }] : [
          { ...axis, values: TIMES, space: 60 },
          { ...axis, label: it.log ? `${it.unit}, log` : it.unit, labelSize: 18, size: (_, shown) => 22 + 7 * Math.max(3, ...(shown ?? []).map((each) => String(each ?? "").length)), values: (_, ticks) => ticks.map((each) => (each === null ? "" : unit.tick(each))), incrs: unit.steps, ...(it.log && { splits: (u) => [0, ...unit.log.filter((each) => each > 1 && each <= u.scales.y.max)], filter: (_, ticks) => ticks }) },
        ],
        series: [{}, ...this.order.map((at) => this.line(it.series[at]))],
        hooks: { draw: [(u) => this.bounds(u)], setCursor: [(u) => this.hover(u)], setScale: [(u, key) => key === "x" && !this.apart && range.length && show(u.scales.x.min, u.scales.x.max)] },
      };
    }

    line({ label, kind }) {
      const colour = () => this.ofKind(kind);
      if (this.it.form === "line" || (this.it.form === "stacked" && !this.stacked))
        return { label, stroke: colour, width: 2, points: { show: this.x.length <= 200, size: 5, fill: colour }, gaps: (u, _, from, to, given) => [...given, ...this.pauses(u, from, to)] };
      // What is over its bound has another colour.
      const most = Math.min(...this.it.bounds.map(({ value }) => value));
      const over = { unit: 3, values: (u, series) => u.data[series].map((value) => (value > most ? this.ofKind("over") : colour())) };
      const disp = this.it.form === "bars" && this.it.bounds.length ? { fill: over, stroke: over } : undefined;
      return { label, stroke: colour, fill: colour, width: 0, points: { show: false }, paths: uPlot.paths.bars({ size: [0.8, 60, this.small ? 1 : 3], disp }) };
    }

    // Where a line would go on over a time without points: more than four times as long as between the others.
    pauses(u, from, to) {
      const between = this.x.slice(1).map((each, at) => each - this.x[at]).sort((a, b) => a - b);
      const long = 4 * (between[Math.floor(between.length / 2)] ?? Infinity);
      const pixel = (at) => Math.round(u.valToPos(this.x[at], "x", true));
      return this.x.slice(from, to).flatMap((each, at) => (this.x[from + at + 1] - each > long ? [[pixel(from + at), pixel(from + at + 1)]] : []));
    }

    bounds(u) {
      const { left, top, width, height } = u.bbox;
      for (const { label, value } of this.it.bounds) {
        const y = Math.round(u.valToPos(value, "y", true));
        if (y < top || y > top + height) continue;
        u.ctx.save();
        u.ctx.strokeStyle = u.ctx.fillStyle = this.ofKind("bound");
        u.ctx.lineWidth = 2 * devicePixelRatio;
        u.ctx.setLineDash([6 * devicePixelRatio, 4 * devicePixelRatio]);
        u.ctx.beginPath();
        u.ctx.moveTo(left, y);
        u.ctx.lineTo(left + width, y);
        u.ctx.stroke();
        if (!this.small) {
          const text = `${label} ${this.unit.tick(value)}`;
          u.ctx.font = `${12 * devicePixelRatio}px system-ui, sans-serif`;
          u.ctx.textAlign = "right";
          u.ctx.textBaseline = "top";
          const wide = u.ctx.measureText(text).width;
          u.ctx.save();
          u.ctx.fillStyle = this.colour("--back");
          u.ctx.fillRect(left + width - wide - 6 * devicePixelRatio, y + 3 * devicePixelRatio, wide + 4 * devicePixelRatio, 15 * devicePixelRatio);
          u.ctx.restore();
          u.ctx.fillText(text, left + width - 4 * devicePixelRatio, y + 4 * devicePixelRatio);
        }
        u.ctx.restore();
      }
    }

    run(at) {
      return this.place.dataset.run ? this.it.runs[at] : null;
    }

    open(at) {
      if (this.run(at)) location.assign(this.place.dataset.run + encodeURIComponent(this.run(at)));
    }

    // What is known of a point: lines of text, and the kind of each that has one.
    figures(at) {
      const of = this.of(at);
      const told = of.filter(([, value]) => value || of.length < 3).map(([label, value, kind]) => [`${label}: ${this.unit.exact(value)}`, kind]);
      if (this.stacked && of.length > 1) told.push([`all: ${this.unit.exact(of.reduce((sum, [, value]) => sum + value, 0))}`, ""]);
      return [[this.it.names[at], ""], [`${moment(this.it.x[at])} ${zone()}`, ""], ...told];
    }

    hover(u) {
      const at = u.cursor.idx;
      if (at === null || at === undefined || u.cursor.left < 0) {
        tip.hidden = true;
        return;
      }
      this.at = at;
      u.over.classList.toggle("opens", Boolean(this.run(at)));
      tip.replaceChildren(...this.figures(at).map(([text, kind]) => element("p", kind, text)));
      tip.hidden = false;
      const over = u.over.getBoundingClientRect();
      const x = over.left + u.valToPos(this.x[at], "x");
      const left = [x + 14, x - 14 - tip.offsetWidth].find((each) => each > 0 && each + tip.offsetWidth < innerWidth);
      // Where there is room beside the point; else below the chart, which stays to be seen.
      tip.style.left = `${left ?? Math.max(4, (innerWidth - tip.offsetWidth) / 2)}px`;
      tip.style.top = `${Math.max(4, Math.min(left === undefined ? over.bottom + 4 : over.top + 4, innerHeight - tip.offsetHeight - 4))}px`;
    }

    listen() {
      const { it, place, u } = this;
      const values = it.series.flatMap((each) => each.values).filter((value) => value !== null);
      const range = values.length ? `${this.unit.exact(Math.min(...values))} to ${this.unit.exact(Math.max(...values))}` : "none";
      place.tabIndex = 0;
      place.setAttribute("role", "application");
      place.setAttribute("aria-roledescription", "chart");
      place.setAttribute("aria-label", `${place.closest("figure").querySelector("figcaption").textContent}: ${this.x.length} points of ${it.series.length} series in ${it.unit}, ${range}. Left and right go from point to point${place.dataset.run ? ", Enter opens the run" : ""}. A table follows.`);
      u.over.addEventListener("click", () => this.open(this.at));
      place.addEventListener("blur", () => u.setCursor({ left: -10, top: -10 }));
      place.addEventListener("keydown", (event) => this.key(event));
      u.over.addEventListener("dblclick", () => this.all());
    }

    key(event) {
      const last = this.x.length - 1;
      const to = { ArrowLeft: this.at - 1, ArrowRight: this.at + 1, PageUp: this.at - 10, PageDown: this.at + 10, Home: 0, End: last }[event.key];
      if (event.key === "Enter") this.open(this.at);
      else if (event.key === "Escape") this.all();
      else if (to === undefined) return;
      else this.go(Math.max(0, Math.min(last, to)));
      event.preventDefault();
    }

    go(at) {
      const { min, max } = this.u.scales.x;
      const x = this.x[at];
      if (x < min || x > max) this.show(x - (max - min) / 2, x + (max - min) / 2);
      this.u.setCursor({ left: this.u.valToPos(x, "x"), top: 10 });
      this.at = at;
      says.textContent = this.figures(at).map(([text]) => text).join(", ");
    }
  }

  const apart = (place) => "small" in place.dataset || "apart" in place.dataset;
  const together = places.filter((place) => !apart(place));
  const drawn = [];
  let range = [];
  // The same range in all charts. Each tells of its own change, later: that is none then.
  function show(from, to, button = null) {
    if (from === range[0] && to === range[1] && !button) return;
    range = [from, to];
    for (const each of drawn) if (!each.apart) each.u.setScale("x", { min: from, max: to });
    for (const each of buttons) each.setAttribute("aria-pressed", String(each === button));
  }

  const times = together.flatMap((place) => JSON.parse(place.dataset.chart).x);
  const oldest = times.reduce((a, b) => Math.min(a, b), Infinity);
  const newest = times.reduce((a, b) => Math.max(a, b), -Infinity);
  const edge = newest > oldest ? Math.max(30, 0.02 * (newest - oldest)) : 3600; // the first and the last bar are whole
  const ranges = [["24 h", DAY], ["7 d", 7 * DAY], ["all", Infinity]];
  const buttons = ranges.map(([name, length]) => {
    const button = element("button", "", name);
    button.addEventListener("click", () => show(Math.max(oldest - edge, newest - length), newest + Math.min(edge, length / 40), button));
    return button;
  });
  const range_all = () => buttons.at(-1).click();
  for (const place of places) drawn.push(new Drawn(place));

  if (times.length) {
    const choice = element("button", "");
    const name = () => (choice.textContent = `times: ${zone()}`);
    name();
    choice.addEventListener("click", () => {
      local = !local;
      keep(ZONE, local ? "local" : "UTC");
      name();
      for (const each of drawn) each.u.redraw(false, true);
    });
    const bar = element("p", "ranges", ...buttons, choice);
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Range and zone of the charts");
    for (const each of [...buttons, choice]) each.type = "button";
    const first = together[0].closest("figure");
    (first.parentElement.classList.contains("charts") ? first.parentElement : first).before(bar);
    range_all();
  }

  // Airflow's light or dark may change while the page is open.
  const again = () => drawn.forEach((each) => each.u.redraw(false, true));
  new MutationObserver(again).observe(document.documentElement, { attributeFilter: ["data-theme"] });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
