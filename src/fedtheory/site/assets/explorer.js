"use strict";
// The bound explorer.  FEDTHEORY (bounds.js) has every bound's symbols, terms, conditions and measured curves.
(() => {
  const { bounds, papers, arenas, series, rounding } = window.FEDTHEORY;
  for (const bound of Object.values(bounds)) {
    // What repeats stands once in the data; here every bound gets all of its own
    const known = papers[bound.paper].symbols;
    bound.symbols = bound.sliders.map(([name, low, high, start]) => ({ name, low, high, start, ...known[name] }));
    bound.tied = Object.entries(bound.tied).map(([name, f]) => ({ name, f, ...known[name] }));
    for (const c of bound.curves) {
      c.symbols = Object.fromEntries(bound.symbols.map((l, i) => [l.name, series[c.symbols][i]]).filter(([, x]) => x !== null));
      c.along = Object.fromEntries(Object.entries(c.along).map(([name, i]) => [name, series[i]]));
      c.arena = arenas[c.arena];
      for (const part of ["mean", "low", "high"]) if (part in c) c[part] = series[c[part]];
    }
  }
  const at = (id) => document.getElementById(id);
  const style = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const STEPS = 1000; // of a slider
  const POINTS = 160; // of a curve
  const FAR = 100; // times the bound
  const ENTRIES = 8; // of the legend
  const SMALL = 0.01; // of the sum: a term below it everywhere is no line
  const CONTRAST = 3; // at least, of a line and the page
  const SIGNS = { "<=": "≤", ">=": "≥", "<": "<", ">": ">", "==": "=", "=": "=", order: "= O of" };
  const HOLDS = {
    "<=": (a, b) => a <= b + rounding * Math.abs(b),
    ">=": (a, b) => a >= b - rounding * Math.abs(b),
    "<": (a, b) => a < b,
    ">": (a, b) => a > b,
    "==": (a, b) => Math.abs(a - b) <= rounding * Math.abs(b),
  };
  const state = { id: "", second: "", along: "", curve: -1, values: {}, witness: null }; // witness: values and the left side there
  let chart = null;

  // What the mathematics says

  function withTied(bound, values) {
    const found = { ...values };
    for (const symbol of bound.tied) found[symbol.name] = symbol.f(found);
    return found;
  }

  function evaluate(id, values) {
    const bound = bounds[id];
    const v = withTied(bound, values);
    const terms = bound.terms.map((term) => term.f(v));
    const conditions = bound.conditions.map((c) => {
      const [left, right] = [c.left(v), c.right(v)];
      return { condition: c, left, right, holds: HOLDS[c.op](left, right) };
    });
    const value = addsUp(bound) ? terms.reduce((a, b) => a + b, 0) : bound.defined && bound.defined(v);
    return { terms, value, conditions, admissible: conditions.every((c) => c.holds) };
  }

  // Parts of relations are no summands: a definition has a value of its own, a condition has none
  const addsUp = (bound) => bound.sign !== "parts";
  const hasValue = (bound) => addsUp(bound) || bound.defined !== null;
  const isOrder = (bound) => bound.sign === "order";

  // Where a run is farthest above a refuted bound, but no more than FAR times, so that a chart can show both; with seeds, the
  // lower end of its interval.  Null if no run is above it

  function crossing(id) {
    const bound = bounds[id];
    let worst = null;
    if (bound.status !== "refuted" || !addsUp(bound) || isOrder(bound)) return null;
    bound.curves.forEach((c, number) => {
      const values = { ...startOf(bound), ...c.symbols };
      (c.seeds ? c.low : c.mean).forEach((measured, i) => {
        for (const [name, xs] of Object.entries(c.along)) values[name] = xs[i];
        const found = evaluate(id, values);
        const ratio = measured / found.value;
        const better = !worst || (ratio > worst.ratio && ratio <= FAR) || (worst.ratio > FAR && ratio < worst.ratio);
        if (found.admissible && ratio > 1 && better) worst = { curve: number, index: i, ratio, value: found.value, measured: c.mean[i] };
      });
    });
    return worst;
  }

  const startOf = (bound) => Object.fromEntries(bound.symbols.map((l) => [l.name, l.start]));


  function inDomain(symbol, x) {
    if (!Number.isFinite(x) || (symbol.integer && x !== Math.round(x))) return false;
    return symbol.least === "none" || (symbol.least === "positive" ? x > 0 : x >= 0);
  }

  // Symbols of the bound and of the one beside it, each once

  function symbols() {
    const own = new Map(bounds[state.id].symbols.map((l) => [l.name, l]));
    if (state.second) for (const l of bounds[state.second].symbols) if (!own.has(l.name)) own.set(l.name, l);
    return [...own.values()];
  }

  const curve = () => (state.curve < 0 ? null : bounds[state.id].curves[state.curve]);

  function measuredAlong() {
    const c = curve();
    return c && c.along[state.along] ? c : null;
  }

  // The symbols that the sliders have moved away from the run's values
  function moved() {
    const tied = new Set(bounds[state.id].tied.map((l) => l.name));
    return Object.entries(curve()?.symbols ?? {})
      .filter(([n, x]) => n !== state.along && !tied.has(n) && Math.abs(state.values[n] - x) > 1e-9 * Math.abs(x))
      .map(([n]) => n);
  }

  const NONE = -1; // of `state.curve`: no run
  const FOLLOWS = -2; // the run that follows the sliders
  const hasRun = () => state.curve !== NONE;

  // The recorded run where it belongs to these values and goes along this axis; else, of some bounds, the one that follows
  function drawnRun() {
    const recorded = moved().length ? null : measuredAlong();
    const { follows } = bounds[state.id];
    if (recorded || !hasRun() || !follows) return recorded;
    const xs = grid(symbols().find((l) => l.name === state.along));
    const mean = xs.map((x) => followed(state.id, { ...state.values, [state.along]: x }));
    return mean.some(Number.isFinite) ? { along: { [state.along]: xs }, mean, seeds: 0, follows } : null;
  }

  const followed = (id, values) => window.follow.value(bounds[id].follows, withTied(bounds[id], values));

  // The points of the horizontal axis

  function grid(symbol) {
    let [low, high] = [symbol.low, symbol.high];
    const measured = measuredAlong();
    if (measured) [low, high] = [Math.min(...measured.along[state.along]), Math.max(...measured.along[state.along])];
    if (low === high) [low, high] = [low / 10, high * 10];
    const found = Array.from({ length: POINTS }, (_, i) => low * (high / low) ** (i / (POINTS - 1)));
    return symbol.integer ? [...new Set(found.map(Math.round).filter((x) => x >= 1))] : found;
  }

  const shown = (x) => (Number.isNaN(x) ? "no number" : !Number.isFinite(x) ? (x > 0 ? "infinite" : "minus infinity") : x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e6 ? String(Number(x.toPrecision(6))) : x.toExponential(4).replace("e+", "e"));
  const short = (x) => (!Number.isFinite(x) ? shown(x) : x === 0 ? "0" : Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5 ? String(Number(x.toPrecision(3))) : x.toExponential(1).replace("e+", "e").replace(".0e", "e"));
  const written = (x) => Number(x.toPrecision(6)); // in a field; the state keeps all digits
  const named = (name) => name.replaceAll("_", " ");
  const escaped = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");

  // The picture

  const light = (channel) => (channel <= 0.04045 ? channel / 12.92 : ((channel + 0.055) / 1.055) ** 2.4);
  const channels = (hex) => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16));
  const luminance = (rgb) => rgb.map((x) => light(x / 255)).reduce((sum, x, i) => sum + [0.2126, 0.7152, 0.0722][i] * x, 0);
  function contrast(a, b) {
    const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  }

  // A colour that can be seen on the page: moved towards black, or in the dark towards white, only as far as needed
  function seen(hex) {
    const paper = channels(style("--paper").replace(/^#(.)(.)(.)$/, "#$1$1$2$2$3$3"));
    const end = luminance(paper) > 0.5 ? 0 : 255;
    let rgb = channels(hex);
    while (contrast(rgb, paper) < CONTRAST) rgb = rgb.map((x) => Math.round(x + Math.sign(end - x) * Math.max(1, Math.abs(end - x) * 0.06)));
    return `#${rgb.map((x) => x.toString(16).padStart(2, "0")).join("")}`;
  }

  const outside = {
    id: "outside",
    beforeDatasetsDraw(c) {
      const { ctx, chartArea: area, scales } = c;
      const { xs, inside } = c.$fed ?? { xs: [], inside: [] };
      ctx.save();
      ctx.fillStyle = "#80808030";
      let from = null;
      const edge = (i) => (i <= 0 ? area.left : i >= xs.length ? area.right : (scales.x.getPixelForValue(xs[i - 1]) + scales.x.getPixelForValue(xs[i])) / 2);
      for (let i = 0; i <= xs.length; i++) {
        const out = i < xs.length && !inside[i];
        if (out && from === null) from = i;
        if (!out && from !== null) {
          ctx.fillRect(edge(from), area.top, edge(i) - edge(from), area.bottom - area.top);
          from = null;
        }
      }
      const x = scales.x.getPixelForValue(c.$fed?.now ?? NaN);
      if (x >= area.left && x <= area.right) {
        ctx.strokeStyle = style("--soft");
        ctx.setLineDash([4, 3]);
        ctx.beginPath();
        ctx.moveTo(x, area.top);
        ctx.lineTo(x, area.bottom);
        ctx.stroke();
      }
      ctx.restore();
    },
  };

  function line(label, xs, ys, colour, more = {}) {
    const log = at("log").checked;
    const data = xs.map((x, i) => ({ x, y: Number.isFinite(ys[i]) && (!log || ys[i] > 0) ? ys[i] : null }));
    return { label, data, borderColor: colour, backgroundColor: colour, borderWidth: 1.5, pointRadius: 0, pointStyle: more.fill === undefined ? "line" : "rect", fill: false, ...more };
  }

  function draw() {
    const bound = bounds[state.id];
    const symbol = symbols().find((l) => l.name === state.along);
    const xs = grid(symbol);
    const first = xs.map((x) => evaluate(state.id, { ...state.values, [state.along]: x }));
    const inside = first.map((f) => f.admissible);
    const negative = addsUp(bound) && first.some((f) => f.terms.some((t) => t < 0));
    const stacked = at("stacked").checked && addsUp(bound) && !negative;
    const dotted = (results) => ({ segment: { borderDash: (c) => (results[c.p0DataIndex].admissible ? undefined : [2, 4]) } });
    const sets = hasValue(bound) ? [line(isOrder(bound) ? "sum, times an unknown constant" : addsUp(bound) ? "bound (sum)" : "value", xs, first.map((f) => f.value), style("--ink"), { borderWidth: 2.4, order: 1, ...dotted(first) })] : [];
    if (state.second) {
      const second = xs.map((x) => evaluate(state.second, { ...state.values, [state.along]: x }));
      sets.push(line(state.second, xs, second.map((f) => f.value), style("--corrected"), { borderWidth: 2.4, borderDash: [8, 3, 2, 3], order: 1, ...dotted(second) }));
    }
    const measured = drawnRun();
    const what = !measured ? "" : measured.seeds ? `measured, mean of ${measured.seeds} seeds` : measured.follows ? `${measured.follows.method} at these values, exact expectation` : "measured, exact expectation";
    if (measured) {
      const mx = measured.along[state.along];
      const dots = mx.length < 3 ? { pointRadius: 4 } : {};
      sets.push(line(what, mx, measured.mean, style("--measured"), { borderWidth: 2.4, order: 0, ...dots }));
      if (measured.seeds) {
        sets.push(line("99.9 % interval", mx, measured.low, "#00000000", { backgroundColor: "#d55e0033", fill: "+1", order: 2, borderWidth: 0 }));
        sets.push(line("", mx, measured.high, "#00000000", { borderWidth: 0, order: 2 }));
      }
    }
    const same = (name) => Math.abs(state.witness.values[name] - state.values[name]) <= 1e-9 * Math.abs(state.values[name]);
    if (state.witness && bound.symbols.every((l) => l.name === state.along || same(l.name))) {
      const mark = { showLine: false, clip: false, pointStyle: "circle", pointRadius: 8, borderWidth: 3, backgroundColor: "#00000000", order: -1 };
      sets.push({ ...line("refuted here", [state.witness.values[state.along]], [state.witness.measured], style("--fails")), ...mark });
    }
    // Where a fill's lower edge would leave a logarithmic axis it runs along the bottom instead
    const sums = [...first.map((f) => f.value), ...(measured ? measured.mean : [])].filter((y) => y > 0 && Number.isFinite(y));
    const log = at("log").checked;
    const bounded = sets.filter((s) => s.label !== what).flatMap((s) => s.data).map((p) => p.y).filter((y) => y > 0 && Number.isFinite(y));
    const most = log && measured && bounded.length ? FAR * Math.max(...bounded) : Infinity;
    const cut = measured && measured.mean.some((y) => y > most); // a run that diverges leaves the chart
    const least = log && sums.length ? Math.min(...sums) / (stacked ? 5 : FAR) : undefined; // a term far below leaves the chart
    let below = xs.map(() => 0);
    const shares = bound.terms.map((_, i) => Math.max(...first.map((f) => Math.abs(f.terms[i] / f.terms.reduce((a, b) => a + Math.abs(b), 0)) || 0)));
    const room = ENTRIES - sets.filter((s) => s.label && s.data.some((p) => p.y !== null)).length;
    const ranked = bound.terms.map((_, i) => i).sort((a, b) => shares[b] - shares[a]);
    const told = new Set(ranked.slice(0, room).filter((i) => stacked || !addsUp(bound) || shares[i] >= SMALL));
    bound.terms.forEach((term, i) => {
      if (!stacked && !told.has(i)) return;
      const own = first.map((f) => f.terms[i]);
      const colour = seen(term.colour);
      if (stacked) {
        below = below.map((b, j) => b + own[j]);
        const fill = { fill: i ? "-1" : "start", backgroundColor: `${colour}73`, borderWidth: 0.8, order: 5 };
        sets.push(line(told.has(i) ? named(term.name) : "", xs, least ? below.map((b) => Math.max(b, least / 2)) : below, colour, fill));
      } else {
        sets.push(line(named(term.name), xs, own, colour, { borderDash: [[6, 3], [12, 3], [9, 3, 2, 3], [4, 4]][i % 4], order: 4 }));
      }
    });
    window.Chart.defaults.color = style("--soft");
    window.Chart.defaults.borderColor = style("--line");
    const options = {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      interaction: { mode: "nearest", axis: "x", intersect: false },
      scales: {
        x: { type: "logarithmic", min: xs[0], max: xs[xs.length - 1], title: { display: true, text: `${state.along}: ${symbol.meaning}` }, ticks: { callback: tick, maxRotation: 0 } },
        y: { type: log ? "logarithmic" : "linear", min: least, max: cut ? most : undefined, title: { display: true, text: bound.label === "" ? "value" : isOrder(bound) ? `${bound.label}, up to a constant` : `bound on ${bound.label}` }, ticks: { callback: log ? tick : (x) => short(x) } },
      },
      plugins: {
        legend: { position: "bottom", labels: { usePointStyle: true, boxWidth: 22, boxHeight: 8, filter: (item, data) => item.text !== "" && data.datasets[item.datasetIndex].data.some((p) => p.y !== null) } },
        tooltip: { enabled: false },
      },
      onHover: (event, found, c) => found.length && read(c.scales.x.getValueForPixel(event.x)),
    };
    if (chart) {
      chart.data.datasets = sets;
      chart.options = options;
    } else {
      chart = new window.Chart(at("chart"), { type: "line", data: { datasets: sets }, options, plugins: [outside] });
    }
    chart.$fed = { xs, inside, now: state.values[state.along] };
    chart.update();
    const some = inside.some((i) => i);
    const speaks = addsUp(bound) ? "The bound applies" : "The conditions hold";
    const gaps = inside.slice(inside.indexOf(true), inside.lastIndexOf(true)).every((i) => i) ? "" : ", with gaps";
    const range = some ? `${speaks} for ${state.along} from ${short(xs[inside.indexOf(true)])} to ${short(xs[inside.lastIndexOf(true)])}${gaps}.` : `${speaks} nowhere here.`;
    at("reading").textContent =
      (inside.every((i) => i) ? "" : some ? `${range} Elsewhere the chart is grey and the bound dotted. ` : `${range} `) +
      (told.size < bound.terms.length ? `Terms ${stacked ? "without an entry in the legend" : "that are not drawn"}, because they are small: ${bound.terms.length - told.size}. The table has them. ` : "") +
      (stacked && log ? "Stacked on a logarithmic axis, so heights are not in proportion. " : "") +
      (negative && at("stacked").checked ? "A term is negative, so terms are lines. " : "");
    at("chart").setAttribute("aria-label", `${state.id} over ${state.along}: from ${saidAt(bound, first[0], short)} to ${saidAt(bound, first[first.length - 1], short)}. ${range}`);
  }

  // The value in a line, or the parts of a condition
  function saidAt(bound, found, number) {
    return hasValue(bound) ? (isOrder(bound) ? `C · ${number(found.value)}` : number(found.value)) : bound.terms.map((term, i) => `${named(term.name)} ${number(found.terms[i])}`).join(", ");
  }

  // The same in a sentence
  function valued(bound, found) {
    if (isOrder(bound)) return `The theorem gives an order only: <b>${shown(found.value)}</b> times an unknown constant.`;
    const form = bound.form[0].toUpperCase() + bound.form.slice(1);
    return `${addsUp(bound) ? `${form} bound: ` : hasValue(bound) ? "Value: " : "Parts: "}<b>${saidAt(bound, found, shown)}</b>.`;
  }

  // Marks of a logarithmic axis: powers of ten, and 2 and 5 times them where there are few
  function tick(x) {
    const lead = x / 10 ** Math.floor(Math.log10(x) + 1e-9);
    const marks = this.max / this.min < 2000 ? [1, 2, 5] : [1];
    return marks.some((mark) => Math.abs(lead - mark) < 1e-6) ? short(x) : "";
  }

  function read(x) {
    const symbol = symbols().find((l) => l.name === state.along);
    const here = symbol.integer ? Math.max(1, Math.round(x)) : x;
    const bound = bounds[state.id];
    const found = evaluate(state.id, { ...state.values, [state.along]: here });
    const parts = [saidAt(bound, found, shown)];
    if (hasValue(bound)) parts.push(bound.terms.map((term, i) => `${named(term.name)} ${short(found.terms[i])}`).join(", "));
    if (state.second) parts.push(`${state.second} ${shown(evaluate(state.second, { ...state.values, [state.along]: here }).value)}`);
    const measured = drawnRun();
    if (measured) {
      const xs = measured.along[state.along];
      const nearest = xs.reduce((best, one, i) => (Math.abs(Math.log(one / here)) < Math.abs(Math.log(xs[best] / here)) ? i : best), 0);
      const ends = measured.seeds ? ` (${short(measured.low[nearest])} to ${short(measured.high[nearest])})` : "";
      const what = measured.follows ? "run here" : `measured at ${short(xs[nearest])}`;
      parts.push(`${what}: ${shown(measured.follows ? followed(state.id, { ...state.values, [state.along]: here }) : measured.mean[nearest])}${ends}`);
    }
    at("hover").textContent = `At ${state.along} = ${short(here)}: ${parts.join("; ")}`;
  }

  // The numbers

  function numbers() {
    const bound = bounds[state.id];
    const found = evaluate(state.id, state.values);
    const second = state.second ? evaluate(state.second, state.values) : null;
    const other = second ? Object.fromEntries(bounds[state.second].terms.map((t, i) => [t.name, second.terms[i]])) : {};
    const rows = bound.terms.map((term, i) => row(named(term.name), term.math, found.terms[i], other[term.name], found.value, seen(term.colour), term.name));
    const own = new Set(bound.terms.map((t) => t.name));
    if (second) {
      bounds[state.second].terms.forEach((term, i) => {
        if (!own.has(term.name)) rows.push(row(named(term.name), term.math, undefined, second.terms[i], found.value, "", term.name));
      });
    }
    if (hasValue(bound)) rows.push(row(`<b>${isOrder(bound) ? "sum, times C" : addsUp(bound) ? "sum" : "value"}</b>`, "", found.value, second?.value, found.value, "", "sum"));
    at("terms").innerHTML =
      `<thead><tr><th scope="col">term</th><th scope="col"></th><th scope="col" class="num">value</th><th scope="col" class="num">${addsUp(bound) ? "share" : ""}</th>` +
      (second ? `<th scope="col" class="num">beside it</th><th scope="col" class="num">first / second</th>` : "") +
      `</tr></thead><tbody>${rows.join("")}</tbody>`;
    const failing = found.conditions.filter((c) => !c.holds);
    const list = found.conditions.map((c) =>
      c.holds
        ? `<li>✓ <span>${c.condition.math}</span>${source(c)}</li>`
        : `<li data-fails="${escaped(c.condition.text).replaceAll('"', "&quot;")}"><span class="fails">✗ fails:</span> <span>${c.condition.math}</span>${source(c)} <span class="fails">here ${short(c.left)} ${SIGNS[c.condition.op]} ${short(c.right)}</span></li>`);
    at("conditions").innerHTML =
      (found.conditions.length === 0
        ? "<p>It states no conditions.</p>"
        : failing.length
          ? `<p><b class="fails">Outside its conditions: ${failing.length} of ${found.conditions.length} fail.</b> The numbers below are not claimed.</p>`
          : `<p>All ${found.conditions.length} conditions hold.</p>`) + `<ul class="conditions">${list.join("")}</ul>`;
    const values = Object.entries(withTied(bound, state.values)).filter(([n]) => bound.symbols.some((l) => l.name === n) || bound.tied.some((l) => l.name === n));
    at("command").textContent = `fedtheory bound ${state.id} ${values.map(([n, x]) => `${n}=${Number(x.toPrecision(12))}`).join(" ")}${failing.length ? " --lenient" : ""}`;
    at("says").innerHTML = `<a href="${state.id}.html"><code>${state.id}</code></a> <span class="badge ${bound.status}">${bound.status}</span> ${escaped(bound.place)}. ${valued(bound, found)}` +
      (second ? ` ${valued(bounds[state.second], second)} <span class="badge ${bounds[state.second].status}">${bounds[state.second].status}</span>${second.admissible ? "" : ` <span class="fails">outside its conditions</span>`}` : "");
    for (const symbol of bound.tied) {
      const cell = at(`tied-${symbol.name}`);
      if (cell) cell.textContent = shown(symbol.f(state.values));
    }
    curveNote();
    refutation();
  }

  // What refutes the bound, and whether it can be drawn

  function refutation() {
    const bound = bounds[state.id];
    const w = bound.witness;
    at("witness").hidden = !w;
    if (!w) return;
    const back = state.crossing ? `<button type="button" id="to-witness">Go to the witness</button>` : "";
    const drawn = state.crossing
      ? `The mark in the chart shows where: measured ${shown(state.crossing.measured)}, bound ${shown(state.crossing.value)}.`
      : bound.curves.length
        ? "The runs here do not cross it: the witness is another instance."
        : w.why;
    const beside = state.second && state.witness && evaluate(state.second, state.values);
    const other = beside && beside.admissible && beside.value < state.witness.measured ? "The form beside it is about another algorithm or quantity: this run does not test it." : "";
    at("witness").innerHTML = `<p><b class="fails">Refuted</b> by ${escaped(w.kind)}${bound.severity ? ` (${bound.severity})` : ""}: ${w.says}. ${drawn} ${other} ${back}</p>` +
      `<details><summary>The whole witness</summary><dl class="witness">${w.values.map(([name, value]) => `<div><dt>${name}</dt><dd>${value}</dd></div>`).join("")}</dl></details>`;
    at("to-witness")?.addEventListener("click", () => { toWitness(); show(); });
  }

  function toWitness() {
    const found = state.crossing;
    chooseCurve(found.curve);
    for (const [name, xs] of Object.entries(curve().along)) state.values[name] = xs[found.index];
    state.witness = { values: { ...state.values }, measured: found.measured };
    fill();
  }

  function source(c) {
    return c.condition.source ? `<span class="source">(${escaped(c.condition.source)})</span>` : "";
  }

  function row(name, math, value, other, sum, colour, key) {
    const swatch = colour ? `<span class="swatch" style="background:${colour}"></span>` : "";
    const cell = (x, attribute) => `<td class="num"${x === undefined ? "" : ` ${attribute}="${x}"`}>${x === undefined ? "" : shown(x)}</td>`;
    const share = value === undefined || key === "sum" || !(sum > 0) || !addsUp(bounds[state.id]) ? "" : `${((100 * value) / sum).toFixed(1)} %`;
    const beside = state.second ? cell(other, "data-second") + `<td class="num">${value !== undefined && other !== undefined && other !== 0 ? shown(value / other) : ""}</td>` : "";
    return `<tr data-term="${key}"><td>${swatch}${name}</td><td>${math}</td>${cell(value, "data-value")}<td class="num">${share}</td>${beside}</tr>`;
  }

  function curveNote() {
    const { follows } = bounds[state.id];
    if (!hasRun()) return;
    const c = curve();
    const differ = moved();
    const notes = [];
    if (c && !follows && !measuredAlong()) notes.push(`The run went along ${Object.keys(c.along).join(", ")}; choose it as the axis to see it.`);
    if (c && !follows && differ.length) notes.push(`The run was made at other values of ${differ.join(", ")}, so it is not drawn.`);
    if (notes.length) at("says").innerHTML += ` <span class="fails">${escaped(notes.join(" "))}</span>`;
    if (!follows || (c && measuredAlong() && !differ.length)) return;
    const why = window.follow.refused(withTied(bounds[state.id], state.values));
    const left = c && differ.length ? `The recorded run has other values of ${differ.join(", ")}. ` : "";
    at("says").innerHTML += why
      ? ` <span class="fails">${escaped(`${left}There is no run at these values: ${why}.`)}</span>`
      : ` <span class="source">${escaped(`${left}The run is computed here for these values: ${follows.method} on quadratics in two dimensions that have these constants.`)}</span>`;
  }

  // Controls

  const toSlider = (l, x) => (x <= 0 || (l.least !== "positive" && x < l.low) ? 0 : Math.round((STEPS * Math.log(x / l.low)) / Math.log(l.high / l.low)));
  function fromSlider(l, position) {
    if (position <= 0 && l.least !== "positive") return 0;
    const x = l.low * (l.high / l.low) ** (position / STEPS);
    return l.integer ? Math.max(1, Math.round(x)) : Number(x.toPrecision(3));
  }

  function controls() {
    const box = at("symbols");
    box.replaceChildren();
    for (const symbol of symbols()) {
      const part = document.createElement("div");
      part.className = "symbol";
      part.innerHTML =
        `<label for="n-${symbol.name}">${symbol.math} <span class="meaning">${symbol.told}</span></label>` +
        `<input type="range" id="r-${symbol.name}" min="0" max="${STEPS}" step="1" aria-label="${escaped(symbol.name)}">` +
        `<input type="number" id="n-${symbol.name}" step="any" inputmode="decimal" aria-describedby="e-${symbol.name}">` +
        `<span class="error" id="e-${symbol.name}" role="alert"></span>`;
      box.append(part);
      const [range, number] = [part.querySelector("[type=range]"), part.querySelector("[type=number]")];
      if (symbol.integer) range.addEventListener("keydown", (event) => count(symbol, event, number));
      range.addEventListener("input", () => set(symbol, fromSlider(symbol, Number(range.value)), number));
      number.addEventListener("input", () => {
        const x = number.value.trim() === "" ? NaN : Number(number.value);
        const good = inDomain(symbol, x);
        complain(symbol, good ? "" : `expected ${symbol.integer ? "a whole number" : "a number"}${{ positive: " above 0", zero: " of at least 0", none: "" }[symbol.least]}`);
        if (good) set(symbol, x, range);
      });
    }
    for (const symbol of bounds[state.id].tied) {
      const part = document.createElement("div");
      part.className = "symbol";
      part.innerHTML = `<span>${symbol.math} <span class="meaning">${symbol.told}, given by the conditions</span></span><output id="tied-${symbol.name}"></output>`;
      box.append(part);
    }
    fill();
  }

  function fill() {
    for (const symbol of symbols()) {
      at(`r-${symbol.name}`).value = toSlider(symbol, state.values[symbol.name]);
      at(`n-${symbol.name}`).value = written(state.values[symbol.name]);
      at(`r-${symbol.name}`).setAttribute("aria-valuetext", shown(state.values[symbol.name]));
    }
  }

  function complain(symbol, what) {
    at(`n-${symbol.name}`).setCustomValidity(what);
    at(`n-${symbol.name}`).setAttribute("aria-invalid", String(what !== ""));
    at(`e-${symbol.name}`).textContent = what && `${what}; the chart keeps ${shown(state.values[symbol.name])}`;
  }

  // The keys of a slider of a count go by one, and by ten
  const KEYS = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 };
  function count(symbol, event, number) {
    if (!(event.key in KEYS)) return;
    event.preventDefault();
    const x = Math.max(symbol.least === "zero" ? 0 : 1, state.values[symbol.name] + KEYS[event.key]);
    event.target.value = toSlider(symbol, x);
    set(symbol, x, number);
  }

  let waiting = false;
  function set(symbol, x, twin) {
    state.values[symbol.name] = x;
    twin.value = twin.type === "range" ? toSlider(symbol, x) : written(x);
    complain(symbol, "");
    at(`r-${symbol.name}`).setAttribute("aria-valuetext", shown(x));
    if (!waiting) {
      waiting = true;
      requestAnimationFrame(() => {
        waiting = false;
        show();
      });
    }
  }

  function show() {
    numbers();
    draw();
    address();
  }

  function option(value, text) {
    const made = document.createElement("option");
    made.value = value;
    made.textContent = text;
    return made;
  }

  // The runs of a bound, those on one problem together, which differ by their step sizes
  function runs(bound) {
    const groups = new Map();
    bound.curves.forEach((c, i) => {
      const step = c.step in c.symbols ? `${c.step} = ${short(c.symbols[c.step])}` : "";
      if (!groups.has(c.arena)) groups.set(c.arena, []);
      groups.get(c.arena).push(option(i, greek(step || c.arena)));
    });
    return [...groups].map(([arena, own]) => {
      const group = document.createElement("optgroup");
      group.label = greek(arena);
      group.append(...own);
      return group;
    });
  }

  const LETTERS = { kappa: "κ", zeta: "ζ", eta: "η", gamma: "γ", tau: "τ", sigma: "σ", delta: "δ", alpha: "α", beta: "β", mu: "μ", lambda: "λ", phi: "φ" };
  const greek = (text) => text.replace(/\b([a-z]+)(_tilde|_\*)?(?![a-z])/g, (all, name, mark) => (name in LETTERS ? LETTERS[name] + ({ _tilde: "\u0303", "_*": "*" }[mark] ?? "") : all));

  function choosePaper(name) {
    at("paper").value = name;
    const own = Object.entries(bounds).filter(([, b]) => b.paper === name);
    at("bound").replaceChildren(...own.map(([id, b]) => option(id, `${id.slice(name.length + 1)} (${b.status}) ${b.place}`)));
  }

  function chooseBound(id, values = null) {
    const bound = bounds[id];
    if (at("paper").value !== bound.paper || !at("bound").options.length) choosePaper(bound.paper);
    Object.assign(state, { id, second: "", curve: NONE, along: bound.along, witness: null, crossing: crossing(id) });
    state.values = { ...startOf(bound), ...values };
    scales();
    at("bound").value = id;
    const alike = Object.entries(bounds).filter(([other, b]) => other !== id && b.paper === bound.paper && b.quantity === bound.quantity);
    const twins = new Set(bound.forms);
    alike.sort(([a], [b]) => Number(twins.has(b)) - Number(twins.has(a)));
    const none = alike.length ? "none" : "none: no other bound on this quantity";
    at("second").replaceChildren(option("", none), ...alike.map(([other, b]) => option(other, `${other.slice(bound.paper.length + 1)} (${b.status})${twins.has(other) ? " its other form" : ""}`)));
    const own = bound.follows ? [option(FOLLOWS, "follows the sliders")] : [];
    at("curve").replaceChildren(option(NONE, bound.curves.length || bound.follows ? "none" : "there is none"), ...own, ...runs(bound));
    at("curve").disabled = !bound.curves.length && !bound.follows;
    at("second").disabled = !alike.length;
    at("formula").innerHTML = addsUp(bound) ? `${bound.left} ${SIGNS[bound.sign]} ${bound.terms.map((t) => `<span>${t.math}</span>`).join(" + ")}` : bound.relations.join(", ");
    axes();
    controls();
  }

  function axes() {
    const names = symbols().map((l) => l.name);
    at("along").replaceChildren(...names.map((n) => option(n, n)));
    if (!names.includes(state.along)) state.along = bounds[state.id].along;
    at("along").value = state.along;
  }

  function chooseSecond(id) {
    state.second = id;
    at("second").value = id;
    if (id) for (const l of bounds[id].symbols) state.values[l.name] ??= l.start;
    axes();
    controls();
  }

  // Terms that add up are stacked on a linear axis; beside a run they are lines on a logarithmic one
  function stacksAtFirst() {
    return !hasRun() && addsUp(bounds[state.id]);
  }

  function scales() {
    at("stacked").disabled = !addsUp(bounds[state.id]);
    at("stacked").checked = stacksAtFirst();
    at("log").checked = hasRun();
  }

  function chooseCurve(index) {
    state.curve = index;
    at("curve").value = index;
    scales();
    const c = curve();
    if (!c) return;
    Object.assign(state.values, c.symbols);
    for (const symbol of bounds[state.id].tied) delete state.values[symbol.name];
    for (const [name, xs] of Object.entries(c.along)) state.values[name] = xs[xs.length - 1];
    state.along = Object.keys(c.along).find((n) => symbols().some((l) => l.name === n)) ?? state.along;
    at("along").value = state.along;
    fill();
  }

  // The address tells everything, so that a link can be sent

  function address() {
    const told = new URLSearchParams({ id: state.id });
    if (state.second) told.set("second", state.second);
    if (hasRun()) told.set("run", state.curve);
    told.set("over", state.along);
    if (at("stacked").checked !== stacksAtFirst()) told.set("stacked", Number(at("stacked").checked));
    if (at("log").checked !== hasRun()) told.set("log", Number(at("log").checked));
    for (const symbol of symbols()) told.set(`_${symbol.name}`, state.values[symbol.name]);
    const hash = `#${told}`;
    if (hash !== location.hash) history.replaceState(null, "", hash);
  }

  function fromAddress() {
    const asked = new URLSearchParams(location.hash.slice(1));
    const id = asked.get("id");
    chooseBound(Object.hasOwn(bounds, id ?? "") ? id : Object.hasOwn(bounds, "sfl.thm1.strongly_convex") ? "sfl.thm1.strongly_convex" : Object.keys(bounds)[0]);
    if (asked.get("second") && [...at("second").options].some((o) => o.value === asked.get("second"))) chooseSecond(asked.get("second"));
    const opened = !["over", "run", "second"].some((name) => asked.has(name)); // without settings of its own
    const run = Number(asked.get("run") ?? (asked.has("over") || !curves().length ? NONE : firstRun()));
    if ([...at("curve").options].some((o) => o.value === String(run))) chooseCurve(run);
    for (const symbol of symbols()) {
      const x = Number(asked.get(`_${symbol.name}`) ?? NaN);
      if (inDomain(symbol, x)) state.values[symbol.name] = x;
    }
    if (symbols().some((l) => l.name === asked.get("over"))) state.along = at("along").value = asked.get("over");
    for (const box of ["stacked", "log"]) if (asked.has(box)) at(box).checked = asked.get(box) === "1";
    if (opened) open();
    fill();
    show();
    if (id && !Object.hasOwn(bounds, id)) at("says").textContent = `There is no bound ${id}; this is another one.`;
  }

  const curves = () => bounds[state.id].curves;
  // The first run with a curve; a run of one or two points only where there is no other
  const firstRun = () => Math.max(0, curves().findIndex((c) => c.mean.length > 2));

  // A bound as it is first shown: a refuted one at its witness, beside its corrected form; else with its first run
  function open() {
    const twin = bounds[state.id].status === "refuted" && bounds[state.id].forms.find((form) => [...at("second").options].some((o) => o.value === form));
    if (curves().length) chooseCurve(firstRun());
    if (twin) chooseSecond(twin);
    if (state.crossing) toWitness();
  }

  at("paper").replaceChildren(...Object.keys(papers).map((name) => option(name, name)));
  at("paper").addEventListener("change", () => {
    choosePaper(at("paper").value);
    chooseBound(at("bound").value);
    open();
    show();
  });
  at("bound").addEventListener("change", () => {
    chooseBound(at("bound").value);
    open();
    show();
  });
  at("second").addEventListener("change", () => { chooseSecond(at("second").value); show(); });
  at("along").addEventListener("change", () => { state.along = at("along").value; show(); });
  at("curve").addEventListener("change", () => { chooseCurve(Number(at("curve").value)); show(); });
  at("stacked").addEventListener("change", show);
  at("log").addEventListener("change", show);
  at("reset").addEventListener("click", () => {
    const { id, second, along, curve: run } = state;
    chooseBound(id);
    if (second) chooseSecond(second);
    if (run !== NONE) chooseCurve(run);
    state.along = at("along").value = along;
    fill();
    show();
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
  window.addEventListener("hashchange", fromAddress);
  fromAddress();
  window.explorer = { state, evaluate, followed, chart: () => chart };
})();
