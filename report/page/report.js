"use strict";
// Draws the report from the JSON in #data. Text from outside becomes textContent, never markup.
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const trials = data.trials;
  const objective = data.objectives[0] || {metric: "value", direction: "minimize"};
  const smallerIsBetter = objective.direction === "minimize";
  const value = trials.values[0] || [];
  const accent = "#1f5fa8", dim = "#6b7580", red = "#b3261e", orange = "#a85a00", green = "#2d7a3e";
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
    if (s < 60) return (s < 10 ? s.toPrecision(2) : Math.round(s)) + " s";
    if (s < 3600) return (s / 60).toFixed(1) + " min";
    return (s / 3600).toFixed(2) + " h";
  }

  const share = (x) => isNumber(x) ? Math.round(100 * x) + " %" : missing;
  const text = (x) => x === null || x === undefined ? missing : typeof x === "number" ? number(x, 6) : String(x);

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

  const empty = (section, why) => section.append(element("p", {class: "empty"}, why));

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
    return element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": caption},
        element("table", {}, element("caption", {}, caption), element("thead", {}, head), body));
  }

  // Charts ---------------------------------------------------------------------------------------

  const waiting = [];  // charts to draw once plotly.js is there
  const axis = (title, more = {}) => ({title: {text: title, standoff: 8}, automargin: true,
    gridcolor: "#e6eaee", zerolinecolor: "#c5ccd3", ...more});

  // Adds a place for a chart; `draw` returns {traces, layout}. `says` is what a screen reader says.
  function chart(parent, says, height, draw) {
    const place = element("div", {class: "chart", role: "img", "aria-label": says});
    parent.append(place);
    const redraw = () => {
      const {traces, layout} = draw();
      const narrow = place.clientWidth < 520;
      Plotly.react(place, traces, {height, margin: {l: 56, r: narrow ? 12 : 24, t: 12, b: 48},
        font: {family: "system-ui, sans-serif", size: narrow ? 11 : 13, color: "#1c2126"},
        paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest",
        legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0},
        ...layout}, {responsive: true, displaylogo: false,
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
    columns.append(element("div", {}, card));
    const found = element("div");
    columns.append(found);
    found.append(element("h3", {}, "What was found"));
    whatWasFound(found);
    section.append(element("h3", {}, "What this report lacks"));
    const list = element("ul");
    for (const words of data.lacks) list.append(element("li", {}, words));
    section.append(list);
  }

  function whatWasFound(parent) {
    const {best, costs, tests, spreads, why} = data.found;
    if (!best) empty(parent, why);
    else {
      const line = element("div", {class: "best"});
      data.objectives.forEach((one, k) => line.append(element("span", {}, one.metric + " ",
          element("span", {class: "value"}, number(best.values[k])))));
      line.append(element("span", {}, "trial " + best.trial + " (" + best.state + "), " + number(best.epochs) +
          " epochs, proposed by " + (best.algorithm || "nobody") +
          (isNumber(best.network_params) ? ", " + big(best.network_params) + " weights, " + big(best.flops) + "FLOPs" : "")));
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
    for (const one of (data.parameters || []).slice(0, 5)) columns.push({title: one.name, number: one.numeric,
      at: (i) => one.values[i], of: (i) => text(one.values[i])});
    columns.push(column("epochs", "epochs", number, true), column("device time", "device_s", duration, true),
        column("duration", "duration_s", duration, true), column("algorithm", "algorithm", text));
    if (trials.params.some(isNumber)) columns.push(column("weights", "params", big, true));
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
            element("td", {class: column.number ? "number" : column.title === "remarks" ? "" : "short"}, column.of(i))));
        return line;
      }));
      back.disabled = page === 0;
      on.disabled = page + 1 >= pages;
      back.hidden = on.hidden = pages === 1;
      says.textContent = rows.length + " trials" + (pages > 1 ? ", page " + (page + 1) + " of " + pages : "");
    }

    arrange();
    const controls = element("div", {class: "pages"}, element("label", {for: "wanted"}, "Only rows with "), search, says, back, on);
    const shown = element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "All trials"},
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
