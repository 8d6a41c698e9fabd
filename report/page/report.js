"use strict";
// Draws the report from the JSON in #data. Text from outside becomes textContent, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const trials = data.trials;
  const objective = data.objectives[0] || {metric: "value", direction: "minimize"};
  const smallerIsBetter = objective.direction === "minimize";
  const value = trials.values[0] || [];
  const hasNetworks = trials.params.some((x) => x > 0);
  const accent = "#1f5fa8", red = "#b3261e", orange = "#a85a00", green = "#2d7a3e";
  const colourOf = {COMPLETE: accent, PRUNED: "#8a94a0", FAIL: red, RUNNING: green, WAITING: orange};

  // Elements and texts ---------------------------------------------------------------------------

  // element("p", {class: "says"}, "text", child, ...)
  function element(tag, attributes = {}, ...children) {
    const made = document.createElement(tag);
    for (const [name, text] of Object.entries(attributes)) made.setAttribute(name, text);
    for (const child of children) made.append(child);
    return made;
  }

  const missing = "–";
  const isNumber = (x) => typeof x === "number" && isFinite(x);

  function number(x, digits = 4) {
    if (!isNumber(x)) return missing;
    if (Number.isInteger(x) && Math.abs(x) < 1e6) return String(x);
    const size = Math.abs(x);
    if (size >= 1e6 || size < 1e-4) return x.toExponential(2);
    return String(Number(x.toPrecision(digits)));
  }

  function big(x) {
    if (!isNumber(x)) return missing;
    for (const [limit, unit] of [[1e12, " T"], [1e9, " G"], [1e6, " M"], [1e3, " k"]])
      if (Math.abs(x) >= limit) return (x / limit).toPrecision(3) + unit;
    return String(x);
  }

  function duration(s) {
    if (!isNumber(s)) return missing;
    if (s === 0) return "0 s";
    if (s < 60) return (s < 10 ? s.toPrecision(2) : Math.round(s)) + " s";
    if (s < 3600) return (s / 60).toFixed(1) + " min";
    return (s / 3600).toFixed(2) + " h";
  }

  const share = (x) => isNumber(x) ? Math.round(100 * x) + " %" : missing;
  const text = (x) => x === null || x === undefined ? missing : typeof x === "number" ? number(x, 6) : String(x);

  // Returns the pieces of a sentence of detol's own, where `commands` stand in backticks.
  const withCode = (words) => words.split("`").map((part, i) => i % 2 ? element("code", {}, part) : part);

  // Returns at most about so many of a list, evenly.
  const some = (list, limit) => list.filter((_, k) => k % Math.ceil(list.length / limit) === 0);

  // Panels ---------------------------------------------------------------------------------------

  let panels = 0;

  // Adds a section with a heading, a sentence that says what one sees, and an entry of the contents.
  function panel(title, says) {
    const id = "panel-" + ++panels;
    const section = element("section", {"aria-labelledby": id}, element("h2", {id}, title));
    if (says) section.append(element("p", {class: "says"}, says));
    document.getElementById("main").append(section);
    document.getElementById("contents").append(
        element("li", {}, element("a", {href: "#" + id}, title)));
    return section;
  }

  const empty = (section, why) => section.append(element("p", {class: "empty"}, ...withCode(why)));

  // columns: [{title, of: row => text, number: bool}]
  function table(caption, columns, rows) {
    const head = element("tr");
    for (const column of columns)
      head.append(element("th", {scope: "col", ...(column.number ? {class: "number"} : {})}, column.title));
    const body = element("tbody");
    for (const row of rows) {
      const line = element("tr");
      columns.forEach((column, i) => {
        const words = column.of(row);
        if (i === 0) line.append(element("th", {scope: "row"}, words));
        else line.append(element("td", column.number ? {class: "number"} : {}, words));
      });
      body.append(line);
    }
    return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table: " + caption},
        element("table", {}, element("caption", {}, caption), element("thead", {}, head), body));
  }

  // Charts ---------------------------------------------------------------------------------------

  const waiting = [];  // charts to draw once plotly.js is there
  const axis = (title, more = {}) => ({title: {text: title, standoff: 8}, automargin: true,
    gridcolor: "#e6eaee", zerolinecolor: "#c5ccd3", ...more});

  // plotly.js understands a little markup, but in the ticks of parallel coordinates: texts are given to
  // it as what they are.
  function plain(part, key = "") {
    if (key === "ticktext" || key === "hovertemplate") return part;
    if (typeof part === "string") return part.replace(/&/g, "&amp;").replace(/</g, "&lt;");
    if (Array.isArray(part)) return part.map((one) => plain(one));
    if (part === null || typeof part !== "object") return part;
    return Object.fromEntries(Object.entries(part).map(([name, one]) => [name, plain(one, name)]));
  }

  // Adds a place for a chart; `draw` returns {traces, layout}. `says` is what a screen reader says.
  function chart(parent, says, height, draw) {
    const place = element("div", {class: "chart", role: "img", "aria-label": says});
    parent.append(place);
    const redraw = () => {
      const {traces, layout} = plain(draw());
      const narrow = place.clientWidth < 520;
      Plotly.react(place, traces, {height, margin: {l: 56, r: narrow ? 12 : 24, t: 12, b: 48},
        font: {family: "system-ui, sans-serif", size: narrow ? 11 : 13, color: "#1c2126"},
        paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest",
        legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0},
        ...layout}, {responsive: true, displaylogo: false, displayModeBar: height < 300 || narrow ? false : "hover",
        modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"]});
    };
    waiting.push(redraw);
    return () => { if (window.Plotly) redraw(); };
  }

  // Adds radio buttons; calls `change` with the chosen key.
  function choice(parent, legend, options, change) {
    const set = element("fieldset", {class: "switch"}, element("legend", {}, legend));
    const name = "choice-" + ++panels;
    Object.entries(options).forEach(([key, words], i) => {
      const input = element("input", {type: "radio", name, value: key, id: name + "-" + i});
      input.checked = i === 0;
      input.addEventListener("change", () => change(key));
      set.append(element("label", {for: input.id}, input, " " + words));
    });
    parent.append(set);
  }

  // Paper is narrower than most windows.
  const charts = () => document.querySelectorAll(".chart.js-plotly-plot");
  window.addEventListener("beforeprint", () => charts().forEach((place) =>
      Plotly.relayout(place, {width: Math.min(place.clientWidth, 680)})));
  window.addEventListener("afterprint", () => charts().forEach((place) =>
      Plotly.relayout(place, {width: null, autosize: true})));

  async function loadPlotly() {
    const packed = document.getElementById("plotly").textContent;
    const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
    const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    document.head.append(element("script", {}, await new Response(unpacked).text()));
  }

  // Unit for an axis of time whose longest value is so many seconds.
  function timeUnit(seconds) {
    if (seconds >= 7200) return {per: 3600, name: "hours"};
    return seconds >= 120 ? {per: 60, name: "minutes"} : {per: 1, name: "seconds"};
  }

  const largest = (list) => list.reduce((most, x) => isNumber(x) && x > most ? x : most, 0);

  // 1. Study card --------------------------------------------------------------------------------

  function studyCard() {
    const section = panel("Study card", "What was asked, with what, and what was found.");
    const columns = element("div", {class: "columns"});
    section.append(columns);
    const card = element("table", {class: "card"}, element("caption", {}, "What was asked"));
    const body = element("tbody");
    for (const [label, words] of data.card)
      body.append(element("tr", {}, element("th", {scope: "row"}, label), element("td", {}, words)));
    card.append(body);
    const list = element("ul");
    for (const words of data.lacks) list.append(element("li", {}, ...withCode(words)));
    columns.append(element("div", {}, card, element("h3", {}, "What this report lacks"), list));
    const found = element("div");
    columns.append(found);
    found.append(element("h3", {}, "What was found"));
    whatWasFound(found);
  }

  function whatWasFound(parent) {
    const {best, costs, tests, spreads, why} = data.found;
    if (!best) empty(parent, why);
    else {
      if (data.objectives.length > 1) parent.append(element("p", {class: "says"},
          "The best trial by the first objective; the Pareto front below has those that weigh all of them."));
      const line = element("div", {class: "best"});
      data.objectives.forEach((one, k) => line.append(element("span", {}, one.metric + " ",
          element("span", {class: "value"}, number(best.values[k], 5)))));
      line.append(element("span", {}, "trial " + best.trial + " (" + best.state + "), " + number(best.epochs) +
          (best.epochs === 1 ? " epoch" : " epochs") + ", proposed by " + (best.algorithm || "nobody") +
          (best.network_params > 0 ? ", " + big(best.network_params) + " weights, " + big(best.flops) + "FLOPs" : "")));
      parent.append(line, table("Parameters of the best trial", [
        {title: "parameter", of: (row) => row[0]},
        {title: "value", of: (row) => text(row[1]), number: true}], Object.entries(best.params)));
    }
    if (tests.length) parent.append(table("Test metrics", [
      {title: "model", of: (row) => row.model ? "model " + row.model + " (" + row.kind + ", trial " + row.trial + ")" : "trial " + row.trial},
      {title: "metric", of: (row) => row.metric},
      {title: "value", of: (row) => number(row.value), number: true},
      {title: "95 % interval", of: (row) => row.interval ? number(row.interval[0]) + " to " + number(row.interval[1]) : missing, number: true}], tests));
    parent.append(table("Cost of all trials", [
      {title: "state", of: (row) => row.state},
      {title: "trials", of: (row) => String(row.trials), number: true},
      {title: "epochs", of: (row) => number(row.epochs), number: true},
      {title: "device time", of: (row) => duration(row.device_s), number: true}],
      [...costs, costs.reduce((sum, row) => ({state: "all", trials: sum.trials + row.trials,
        epochs: sum.epochs + row.epochs, device_s: sum.device_s + row.device_s}))]));
    if (spreads.length) parent.append(table("Spread over seeds", [
      {title: "of", of: (row) => row.what},
      {title: "runs", of: (row) => String(row.count), number: true},
      {title: "mean", of: (row) => number(row.mean), number: true},
      {title: "standard deviation", of: (row) => number(row.deviation, 3), number: true}], spreads));
  }

  // 2. History -----------------------------------------------------------------------------------

  function historyPanel() {
    const section = panel("Optimisation history",
        "Each dot is a trial, the line is the best value so far (" + objective.direction + " " + objective.metric + ").");
    const history = data.history;
    if (history.why) return empty(section, history.why);
    let by = "trial";
    choice(section, "Over", {trial: "trial number", wall_s: "wall time", device_s: "device time"},
        (key) => { by = key; redraw(); });
    const best = data.found.best;
    const redraw = chart(section, "Value of each trial and the best so far" +
        (best ? ": it ends at " + number(best.values[0]) + " in trial " + best.trial : "") + ".", 380, () => {
      const of = by === "trial" ? history.by_trial : history.by_end;
      const unit = by === "trial" ? {per: 1, name: "trial"} : timeUnit(largest(of[by]));
      const x = of[by].map((t) => t / unit.per);
      const title = {trial: "trial", wall_s: "wall time since the start, pauses included, in " + unit.name,
        device_s: "device time of all trials that had ended, in " + unit.name}[by];
      return {traces: [
        {type: "scatter", mode: "markers", name: "trial", x, y: of.value, marker: {color: "#8a94a0", size: 5},
          text: of.trial.map((t) => "trial " + t), hovertemplate: "%{text}: %{y}<extra></extra>"},
        {type: "scatter", mode: "lines", name: "best so far", x, y: of.best, line: {color: accent, shape: "hv", width: 2.5},
          hovertemplate: "best %{y}<extra></extra>"}],
        layout: {xaxis: axis(title), yaxis: axis(objective.metric, {range: robustRange(of.value)})}};
    });
  }

  // The range of an axis: without far outliers on the bad side, which a reader can still zoom out to.
  function robustRange(list) {
    const sorted = list.filter(isNumber).sort((a, b) => a - b);
    if (sorted.length < 20) return undefined;
    const at = (q) => sorted[Math.round(q * (sorted.length - 1))];
    let low = sorted[0], high = sorted[sorted.length - 1];
    const reach = 4 * (at(0.75) - at(0.25));
    if (smallerIsBetter) high = Math.min(high, at(0.75) + reach);
    else low = Math.max(low, at(0.25) - reach);
    const margin = 0.05 * (high - low) || Math.abs(high) * 0.05 || 1;
    return [low - margin, high + margin];
  }

  // 3. Pareto front, or value against cost -------------------------------------------------------

  function paretoPanel() {
    if (data.objectives.length < 2) return costPanel();
    const section = panel("Pareto front and hypervolume", "Trials that no other beats in every objective are on the front; the hypervolume is what they dominate, up to the worst values seen.");
    const {front, volume, reference, why} = data.pareto;
    if (why) return empty(section, why);
    const names = data.objectives.map((one) => one.metric);
    const pairs = {};
    for (let a = 0; a < names.length; ++a)
      for (let b = a + 1; b < names.length; ++b) pairs[a + "," + b] = names[a] + " and " + names[b];
    let [a, b] = [0, 1];
    if (names.length > 2) choice(section, "Axes", pairs, (key) => { [a, b] = key.split(",").map(Number); redraw(); });
    const redraw = chart(section, front.length + " trials are on the Pareto front of " + names.join(", ") + ".", 400, () => {
      const onFront = new Set(front), on = [...front].sort((i, j) => trials.values[a][i] - trials.values[a][j]);
      const others = trials.trial.map((_, i) => i).filter((i) => trials.scored[i] && !onFront.has(i));
      return {traces: [
        dots("dominated", some(others, 3000), trials.values[a], trials.values[b], {color: "#8a94a0", size: 5}),
        {...dots("Pareto front", on, trials.values[a], trials.values[b], {color: accent, size: 8}),
          mode: names.length === 2 ? "lines+markers" : "markers", line: {color: accent, width: 1, dash: "dot"}}],
        layout: {xaxis: axis(goal(a)), yaxis: axis(goal(b))}};
    });
    if (volume.trial.length) chart(section, "Hypervolume of the first trials; it ends at " + number(volume.volume[volume.volume.length - 1]) + ".", 240,
      () => ({traces: [{type: "scatter", mode: "lines", x: volume.trial, y: volume.volume, line: {color: accent, shape: "hv", width: 2.5}}],
        layout: {xaxis: axis("trial"), yaxis: axis("hypervolume"), showlegend: false}}));
    section.append(element("p", {class: "says"}, !volume.trial.length ? "The front is too large for its hypervolume to be computed in time." :
        "The reference point of the hypervolume is " + names.map((name, k) => name + " " + number(reference[k])).join(", ") + "."));
    section.append(details("The front as a table", table(front.length > 100 ? "The first 100 trials on the Pareto front" : "Trials on the Pareto front", [
      {title: "trial", of: (i) => String(trials.trial[i])},
      ...names.map((name, k) => ({title: name, of: (i) => number(trials.values[k][i]), number: true})),
      ...(hasNetworks ? [{title: "weights", of: (i) => big(trials.params[i]), number: true}] : []),
      {title: "algorithm", of: (i) => trials.algorithm[i]}], front.slice(0, 100))));
  }

  const goal = (k) => data.objectives[k].metric + " (" + data.objectives[k].direction + ")";

  // A trace of trials at the given positions.
  function dots(name, at, xs, ys, marker) {
    return {type: "scatter", mode: "markers", name, x: at.map((i) => xs[i]), y: at.map((i) => ys[i]), marker,
      text: at.map((i) => "trial " + trials.trial[i]), hovertemplate: "%{text}: %{x}, %{y}<extra></extra>"};
  }

  function costPanel() {
    const section = panel("Value against cost", "The value of each trial against what its network costs: further up and left is better for less.".replace("up", smallerIsBetter ? "down" : "up"));
    const of = {params: "weights", flops: "FLOPs of one forward pass", device_s: "device time in seconds"};
    const known = Object.keys(of).filter((key) => trials[key].some((x, i) => isNumber(x) && x > 0 && trials.scored[i]));
    if (!trials.scored.some(Boolean)) return empty(section, "No trial has reported a number yet.");
    if (!known.length) return empty(section, "The trials of this study have no networks and took no measurable time.");
    if (!known.includes("params")) section.append(element("p", {}, "The trials of this study have no networks; their device time stands for what they cost."));
    let by = known[0];
    choice(section, "Against", Object.fromEntries(known.map((key) => [key, of[key]])), (key) => { by = key; redraw(); });
    const redraw = chart(section, objective.metric + " of each trial against " + known.map((key) => of[key]).join(", ") + ".", 360, () => {
      const shown = some(trials.trial.map((_, i) => i).filter((i) => trials.scored[i] && trials[by][i] > 0), 3000);
      return {traces: ["PRUNED", "COMPLETE", "RUNNING"].map((state) => dots(state, shown.filter((i) => trials.state[i] === state),
          trials[by], value, {color: colourOf[state], size: state === "PRUNED" ? 5 : 7})).filter((trace) => trace.x.length),
        layout: {xaxis: axis(of[by], {type: "log"}), yaxis: axis(objective.metric, {range: robustRange(value)})}};
    });
  }

  // 4. to 6. Parameters --------------------------------------------------------------------------

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
    section.append(element("p", {class: "says"}, "Shown are " + lines.length + " of " + trials.trial.length + " trials" +
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
    return element("details", {}, element("summary", {}, summary), ...children);
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

  // 7. Learning curves ---------------------------------------------------------------------------

  function curvesPanel() {
    const section = panel("Learning curves", objective.metric + " of each trial after each epoch; those that the pruner ended are faint.");
    const {curves, of, pruner, rungs, why} = data.curves;
    if (why) return empty(section, why);
    section.append(element("p", {class: "says"}, (curves.length < of ? "Shown are " + curves.length + " of " + of + " trials, the best among them. " : "") +
        (rungs.length ? "The dotted lines are where the pruner " + pruner + " ended trials: " +
          rungs.map((rung) => rung.trials + " after " + number(rung.epoch, 3) + (rung.epoch === 1 ? " epoch" : " epochs")).join(", ") + "." :
          "The pruner (" + pruner + ") ended no trial.")));
    const best = data.found.best ? data.found.best.trial : -1;
    chart(section, "Learning curves of " + curves.length + " trials.", 400, () => {
      const group = (name, wanted, line, opacity) => {
        const trace = {type: "scatter", mode: "lines+markers", name, x: [], y: [], text: [], line, opacity, marker: {size: 4, color: line.color},
          hovertemplate: "%{text}: %{y} after %{x} epochs<extra></extra>"};
        for (const curve of curves.filter(wanted)) {
          trace.x.push(...curve.epochs, null);
          trace.y.push(...curve.values, null);
          trace.text.push(...curve.epochs.map(() => "trial " + curve.trial), "");
        }
        return trace;
      };
      const isBest = (curve) => curve.trial === best;
      return {traces: [
        group("pruned", (curve) => curve.state === "PRUNED" && !isBest(curve), {color: "#8a94a0", width: 1}, 0.45),
        group("failed", (curve) => curve.state === "FAIL", {color: red, width: 1.2}, 0.8),
        group("complete or running", (curve) => !["PRUNED", "FAIL"].includes(curve.state) && !isBest(curve), {color: "#5b8fc9", width: 1.4}, 0.9),
        group("best", isBest, {color: "#0b3d7a", width: 3}, 1)].filter((trace) => trace.x.length),
        layout: {xaxis: axis("epochs", {rangemode: "tozero"}), yaxis: axis(objective.metric, {range: robustRange(curves.flatMap((curve) => curve.values))}),
          shapes: rungs.map((rung) => ({type: "line", x0: rung.epoch, x1: rung.epoch, yref: "paper", y0: 0, y1: 1, line: {color: orange, width: 1.2, dash: "dot"}}))}};
    });
  }

  // 8. Workers and budget ------------------------------------------------------------------------

  function workersPanel() {
    const section = panel("Workers", "Who trained what when: each bar is a trial on a worker, in the colour of how it ended.");
    const {bars, busy, utilization, why} = data.workers;
    if (why) empty(section, why);
    else {
      section.append(element("p", {}, isNumber(utilization) ? "Utilization: " + share(utilization) + " of the device time was training; the rest was start-up, evaluation between trials, and waiting." :
          "Utilization is unknown, since no device time was accounted."));
      const unit = timeUnit(largest(bars.from_s.map((from, i) => from + bars.length_s[i])));
      const names = busy.map((row) => row.worker);
      chart(section, "Time line of " + names.length + " workers; the table below has their shares.", 110 + 34 * Math.min(names.length, 40), () => ({
        traces: Object.keys(colourOf).map((state) => {
          const at = bars.state.map((_, i) => i).filter((i) => bars.state[i] === state);
          return {type: "bar", orientation: "h", name: state === "WAITING" ? "resumed later" : state.toLowerCase(), base: at.map((i) => bars.from_s[i] / unit.per), x: at.map((i) => bars.length_s[i] / unit.per),
            y: at.map((i) => bars.worker[i]), marker: {color: colourOf[state], line: {color: "#fff", width: at.length < 600 ? 0.5 : 0}},
            text: at.map((i) => (bars.first[i] === bars.last[i] ? "trial " + bars.first[i] : "trials " + bars.first[i] + " to " + bars.last[i]) + ", " + duration(bars.length_s[i])),
            textposition: "none", hovertemplate: "%{y}: %{text}<extra></extra>"};
        }).filter((trace) => trace.x.length),
        layout: {barmode: "overlay", bargap: 0.25, xaxis: axis(unit.name + " since the study began"), yaxis: axis("", {type: "category", categoryorder: "array", categoryarray: [...names].reverse()})}}));
      section.append(table("Workers", [
        {title: "worker", of: (row) => row.worker},
        {title: "attempts", of: (row) => String(row.attempts), number: true},
        {title: "with a trial", of: (row) => duration(row.busy_s), number: true},
        {title: "share of the run", of: (row) => share(row.share), number: true}], busy));
    }
    budgetCharts(section);
  }

  function budgetCharts(section) {
    section.append(element("h3", {}, "Budget"));
    const {limits, why} = data.budget;
    if (why) return empty(section, why);
    for (const limit of limits) {
      const unit = timeUnit(largest(limit.wall_s));
      section.append(element("p", {}, number(limit.used) + " of " + number(limit.limit) + " " + limit.unit + " were used." +
          (/pu|wall/.test(limit.unit) ? " The line counts trials when they end; the last step is what ran beside them, and idle time." : "")));
      chart(section, "What was left of the budget of " + number(limit.limit) + " " + limit.unit + " over time.", 240, () => ({
        traces: [{type: "scatter", mode: "lines", x: limit.wall_s.map((t) => t / unit.per), y: limit.left, line: {color: accent, shape: "hv", width: 2}, fill: "tozeroy", fillcolor: "#e8f0f9"}],
        layout: {showlegend: false, xaxis: axis(unit.name + " since the study began"), yaxis: axis(limit.unit + " left", {rangemode: "tozero"})}}));
    }
  }

  // 9. Credit ------------------------------------------------------------------------------------

  function creditPanel() {
    const section = panel("Credit of the algorithms", "Who proposed the trials, and how often one of them was the best so far when it ended.");
    const {rows, why} = data.credit;
    if (why) return empty(section, why);
    if (rows.length > 1) chart(section, rows.map((row) => (row.algorithm || "nobody") + ": " + row.improvements + " improvements of " + row.proposals + " proposals").join("; ") + ".", 90 + 44 * rows.length, () => {
      const names = rows.map((row) => row.algorithm || "nobody").reverse(), of = (key) => rows.map((row) => row[key]).reverse();
      return {traces: [
        {type: "bar", orientation: "h", name: "proposals", y: names, x: of("proposals"), marker: {color: "#b9c4d0"}},
        {type: "bar", orientation: "h", name: "improvements", y: names, x: of("improvements"), marker: {color: accent}, xaxis: "x2"}],
        layout: {barmode: "group", grid: {rows: 1, columns: 2}, xaxis: axis("proposals", {domain: [0, 0.47]}), xaxis2: axis("improvements", {domain: [0.53, 1]}), yaxis: axis(""), showlegend: false}};
    });
    section.append(table("Credit of the algorithms", [
      {title: "algorithm", of: (row) => row.algorithm || "nobody"},
      {title: "proposals", of: (row) => String(row.proposals), number: true},
      {title: "with a value", of: (row) => String(row.scored), number: true},
      {title: "improvements", of: (row) => String(row.improvements), number: true},
      {title: "best " + objective.metric, of: (row) => number(row.best), number: true},
      {title: "mean", of: (row) => number(row.mean), number: true},
      {title: "device time", of: (row) => duration(row.device_s), number: true}], rows));
  }

  // 10. Networks ---------------------------------------------------------------------------------

  function networksPanel() {
    const section = panel("Best networks", "The networks of the best trials, drawn by Graphviz, and what differs between the best two.");
    const {drawings, difference, why} = data.networks;
    if (why) empty(section, why);
    const grid = element("div", {class: "columns"});
    section.append(grid);
    for (const one of drawings) {
      const title = "Trial " + one.trial + ": " + objective.metric + " " + number(one.value);
      const part = element("div", {}, element("h3", {}, title),
          element("p", {class: "says"}, one.layers + " layers, " + big(one.network_params) + " weights, " + big(one.flops) + "FLOPs"));
      if (one.svg) part.append(element("div", {class: "drawing", tabindex: "0", role: "region", "aria-label": "Drawing of trial " + one.trial},
          element("img", {src: "data:image/svg+xml;base64," + one.svg, alt: "Graph of the " + one.layers + " layers of trial " + one.trial + ", which the list below names."})));
      else empty(part, one.why);
      const list = element("ol");
      for (const layer of one.list) list.append(element("li", {}, layer));
      part.append(details("Its layers as a list", list));
      grid.append(part);
    }
    if (!difference) return empty(section, "There are no two trials to compare yet.");
    const [a, b] = difference.trials.map((trial, k) => "trial " + trial + " (" + number(difference.values[k]) + ")");
    section.append(element("h3", {}, "What differs between " + a + " and " + b));
    const compare = (what, rows, of) => rows.length ? section.append(table(what + " that differ", [
      ...(what === "Parameters" ? [{title: "parameter", of: (row) => row[0]}] : []),
      {title: a, of: (row) => of(row, 0)}, {title: b, of: (row) => of(row, 1)}], rows)) :
      section.append(element("p", {}, what === "Parameters" ? "They have the same parameters." : ""));
    compare("Parameters", difference.params, (row, k) => text(row[1 + k]));
    if (difference.layers.length) compare("Layers", difference.layers, (row, k) => row[k] || missing);
  }

  // 11. Table of all trials ----------------------------------------------------------------------

  function trialsPanel() {
    const section = panel("All trials", "Sort by a column's heading. Failed and refused trials are here, too, with their reasons.");
    if (!trials.trial.length) return empty(section, "The study has no trial yet.");
    section.append(...sortableTable(trialColumns()));
  }

  // A column: {title, at: i => sortable value, of: i => text, number}
  function trialColumns() {
    const column = (title, name, format, isNumeric) => ({title, at: (i) => trials[name][i],
      of: (i) => format(trials[name][i]), number: isNumeric});
    const columns = [column("trial", "trial", String, true), column("state", "state", text)];
    data.objectives.forEach((one, k) => columns.push({title: one.metric, number: true,
      at: (i) => trials.values[k][i], of: (i) => number(trials.values[k][i])}));
    for (const one of byImportance().slice(0, 4)) columns.push({title: short(one.name), number: one.choices.every((choice) => !isNaN(choice)),
      at: (i) => one.values[i], of: (i) => text(one.values[i])});
    columns.push(column("epochs", "epochs", number, true), column("device time", "device_s", duration, true),
        column("duration", "duration_s", duration, true), column("algorithm", "algorithm", text));
    if (hasNetworks) columns.push(column("weights", "params", big, true));
    columns.push({title: "remarks", at: (i) => remarks(i), of: (i) => remarks(i)});
    return columns;
  }

  function remarks(i) {
    return [trials.failure[i], trials.reason[i], (trials.tags[i] || []).map((tag) => "#" + tag).join(" "), trials.note[i]]
        .filter(Boolean).join("; ");
  }

  // Returns the controls and the table; pages of 500 rows.
  function sortableTable(columns) {
    const size = 500;
    let rows = trials.trial.map((_, i) => i), page = 0, by = 0, up = true, wanted = "";
    const body = element("tbody"), head = element("tr");
    const says = element("span", {role: "status"});
    const turn = (words, step) => {
      const button = element("button", {type: "button"}, words);
      button.addEventListener("click", () => { page += step; show(); });
      return button;
    };
    const back = turn("Previous", -1), on = turn("Next", 1);
    columns.forEach((column, k) => {
      const button = element("button", {type: "button"}, column.title);
      button.addEventListener("click", () => { up = by === k ? !up : true; by = k; page = 0; arrange(); });
      head.append(element("th", {scope: "col", class: column.number ? "number" : "text"}, button));
    });
    const search = element("input", {type: "search", id: "wanted"});
    search.addEventListener("input", () => { wanted = search.value.toLowerCase(); page = 0; arrange(); });

    function arrange() {
      const {at} = columns[by];
      rows = trials.trial.map((_, i) => i).filter((i) => !wanted ||
          columns.some((column) => column.of(i).toLowerCase().includes(wanted)));
      rows.sort((a, b) => {
        const x = at(a), y = at(b), noX = x === null || x === "", noY = y === null || y === "";
        if (noX || noY) return noX - noY || a - b;
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return (up ? order : -order) || a - b;
      });
      [...head.children].forEach((cell, k) => {
        if (k === by) cell.setAttribute("aria-sort", up ? "ascending" : "descending");
        else cell.removeAttribute("aria-sort");
      });
      show();
    }

    function show() {
      const pages = Math.max(1, Math.ceil(rows.length / size));
      body.replaceChildren(...rows.slice(page * size, (page + 1) * size).map((i) => {
        const line = element("tr");
        columns.forEach((column, k) => line.append(k === 0 ?
            element("th", {scope: "row", class: "number"}, column.of(i)) :
            element("td", {class: column.number ? "number" : column.title === "remarks" ? "words" : "short"}, column.of(i))));
        return line;
      }));
      back.disabled = page === 0;
      on.disabled = page + 1 >= pages;
      back.hidden = on.hidden = pages === 1;
      says.textContent = rows.length + " trials" + (pages > 1 ? ", page " + (page + 1) + " of " + pages : "");
    }

    arrange();
    const controls = element("div", {class: "pages"}, element("label", {for: "wanted"}, "Only rows with "), search, says, back, on);
    const shown = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of all trials"},
        element("table", {id: "trials"}, element("caption", {}, "All trials"), element("thead", {}, head), body));
    return [controls, shown];
  }

  // The page -------------------------------------------------------------------------------------

  document.getElementById("subtitle").textContent =
      data.objectives.map((one) => one.direction + " " + one.metric).join(", ");
  document.getElementById("made").textContent =
      "Made by detol on " + new Date(1000 * data.made_s).toISOString().slice(0, 16).replace("T", " ") +
      " UTC. Charts by plotly.js. This file asks no network for anything.";

  studyCard();
  historyPanel();
  paretoPanel();
  parallelPanel();
  importancePanel();
  slicePanel();
  curvesPanel();
  workersPanel();
  creditPanel();
  networksPanel();
  trialsPanel();

  loadPlotly().then(() => {
    for (const draw of waiting) draw();
    document.body.dataset.drawn = "yes";
  }).catch((error) => {
    console.error(error);
    for (const place of document.querySelectorAll(".chart"))
      place.replaceChildren(element("p", {class: "empty"},
          "This browser cannot draw the charts: " + error.message));
  });
})();
