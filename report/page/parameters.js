// Parallel coordinates, importance and slices of the parameters.

const isList = (one) => one.kind === "categorical" || one.kind === "bool";

// The parameters, the most important first.
function byImportance() {
  const ranks = new Map((data.importance.rows || []).filter((row) => isNumber(row.value)).map((row, i) => [row.name, i]));
  const rank = (one) => ranks.has(one.name) ? ranks.get(one.name) : ranks.size;
  return data.parameters.map((one, i) => [one, i]).sort((x, y) => rank(x[0]) - rank(y[0]) || x[1] - y[1]).map((x) => x[0]);
}

const brief = (words, length) => words.length > length ? words.slice(0, length - 1) + "…" : words;
const short = (name) => name.replace(/^architecture\./, "");

// The best half of the lines and a sample of the others, at most 800.
function someScored() {
  const order = trials.trial.map((_, i) => i).filter((i) => trials.scored[i])
      .sort((i, j) => smallerIsBetter ? value[i] - value[j] : value[j] - value[i]);
  if (order.length <= 800) return order;
  const step = Math.ceil((order.length - 400) / 400);
  return order.filter((_, place) => place < 400 || place % step === 0);
}

function parallelPanel() {
  const section = panel("Parallel coordinates", "Each line is a trial that crosses every axis at its value; dark lines are good; far outliers stand at the end of the last axis. Drag along an axis to keep only the lines through that range.");
  const lines = someScored().reverse();
  const varying = byImportance().filter((one) => new Set(lines.map((i) => one.values[i])).size > 1);
  const shown = varying.slice(0, window.innerWidth < 600 ? 4 : 9);
  if (!lines.length) return empty(section, "No trial has reported a number yet.");
  if (!shown.length) return empty(section, "No parameter differs between the trials.");
  section.append(element("p", {class: "says"}, "Shown are " + lines.length + " of " + data.count + " trials" +
      (varying.length > shown.length ? ", and the " + shown.length + " most important of " + varying.length + " parameters that vary." : ".")));
  const wide = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Chart of parallel coordinates"});
  section.append(wide);
  chart(wide, "Parallel coordinates of " + shown.map((one) => one.name).join(", ") + " and " + objective.metric + ". The table of all trials has the same numbers.", 420, () => {
    const range = robustRange(lines.map((i) => value[i])) || [Math.min(...lines.map((i) => value[i])), Math.max(...lines.map((i) => value[i]))];
    const scale = [[0, "#d9e2ec"], [0.6, "#7ba3d0"], [1, "#0b3d7a"]];
    return {traces: [{type: "parcoords", labelangle: -18, labelfont: {size: 12},
      line: {color: lines.map((i) => value[i]), colorscale: scale, reversescale: smallerIsBetter, cmin: range[0], cmax: range[1]},
      dimensions: [...shown.map((one) => dimension(one, lines)), {label: objective.metric, values: lines.map((i) => Math.min(range[1], Math.max(range[0], value[i])))}]}],
      layout: {margin: {l: 60, r: 50, t: 90, b: 30}}};
  });
}

// An axis of parallel coordinates; one more tick stands for trials without the parameter.
function dimension(one, lines) {
  const label = brief(short(one.name), 26), absent = lines.some((i) => one.values[i] === null);
  if (isList(one)) {
    const words = absent ? [...one.choices, "none"] : one.choices;
    return {label, values: lines.map((i) => one.values[i] === null ? words.length - 1 : words.indexOf(one.values[i])),
      tickvals: words.map((_, k) => k), ticktext: words.map((word) => brief(word, 14)), range: [0, Math.max(1, words.length - 1)]};
  }
  const seen = (i) => one.log ? Math.log10(one.values[i]) : one.values[i];
  const numbers = lines.filter((i) => one.values[i] !== null).map(seen);
  const low = Math.min(...numbers), high = Math.max(...numbers), below = low - (high - low || 1) * 0.1;
  const isFewWhole = one.kind === "int" && !one.log && high - low < 8;
  const ticks = isFewWhole ? Array.from({length: high - low + 1}, (_, k) => low + k) : [0, 1, 2, 3, 4].map((k) => low + (high - low) * k / 4);
  return {label, values: lines.map((i) => one.values[i] === null ? below : seen(i)),
    range: [absent ? below : low, high > low ? high : low + 1],
    tickvals: absent ? [below, ...ticks] : ticks,
    ticktext: [...(absent ? ["none"] : []), ...ticks.map((x) => number(one.log ? 10 ** x : x, 3))]};
}

function importancePanel() {
  const section = panel("Importance of the parameters", "The share that each parameter alone explains of which trials are among the best quarter (PED-ANOVA), with its 95 % bootstrap interval.");
  const {rows, why} = data.importance;
  if (why) return empty(section, why);
  const measured = rows.filter((row) => isNumber(row.value)).slice(0, 20).reverse();
  if (!measured.length) return empty(section, "No parameter has enough finished trials to be measured.");
  const most = measured[measured.length - 1];
  chart(section, "The most important parameter is " + most.name + ": " + number(most.value, 2) + ", from " + number(most.low, 2) + " to " + number(most.high, 2) + ".",
    80 + 26 * measured.length, () => ({traces: [{type: "bar", orientation: "h", marker: {color: accent},
      x: measured.map((row) => row.value), y: measured.map((row) => short(row.name)),
      error_x: {type: "data", symmetric: false, array: measured.map((row) => Math.max(0, row.high - row.value)),
        arrayminus: measured.map((row) => Math.max(0, row.value - row.low)), color: "#1c2126", thickness: 1.5, width: 4}}],
      layout: {xaxis: axis("importance", {rangemode: "tozero"}), yaxis: axis("", {tickfont: {size: 12}}), showlegend: false}}));
  section.append(details("The same as a table", table("Importance of the parameters", [
    {title: "parameter", of: (row) => row.name},
    {title: "importance", of: (row) => number(row.value, 3), number: true},
    {title: "95 % interval", of: (row) => isNumber(row.low) ? number(row.low, 2) + " to " + number(row.high, 2) : missing, number: true},
    {title: "trials", of: (row) => String(row.trials), number: true}], rows)));
}

function details(summary, ...children) {
  const key = keyOf(summary), made = element("details", {}, element("summary", {}, summary), ...children);
  made.open = kept.open.has(key);
  made.addEventListener("toggle", () => made.open ? kept.open.add(key) : kept.open.delete(key));
  return made;
}

function slicePanel() {
  const section = panel("Slices", "The value of each trial against one parameter at a time, the most important first; later trials are darker.");
  const at = trials.trial.map((_, i) => i).filter((i) => trials.scored[i]);
  const shown = byImportance().filter((one) => at.some((i) => one.values[i] !== null)).slice(0, 6);
  if (!at.length) return empty(section, "No trial has reported a number yet.");
  if (!shown.length) return empty(section, "The study has no parameters.");
  const few = some(at, 1500);
  const grid = element("div", {class: "small"});
  section.append(grid);
  for (const one of shown) {
    const here = few.filter((i) => one.values[i] !== null);
    chart(grid, objective.metric + " against " + one.name + ".", 270, () => ({traces: [{
      ...dots(one.name, here, one.values, value, {color: here.map((i) => i), size: 6, opacity: 0.8,
        colorscale: [[0, "#b9cbe0"], [1, "#0b3d7a"]]})}],
      layout: {showlegend: false, yaxis: axis(objective.metric, {range: robustRange(value)}),
        xaxis: axis(short(one.name), isList(one) ? {type: "category", categoryorder: "array", categoryarray: one.choices} : one.log ? {type: "log"} : {})}}));
  }
}
