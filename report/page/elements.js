// What the page is made of: elements, numbers as text, panels and tables.

let data, trials, objective, smallerIsBetter, value, hasNetworks;

// Makes a model what the page shows.
function take(model) {
  data = model;
  trials = data.trials;
  objective = data.objectives[0] || {metric: "value", direction: "minimize"};
  smallerIsBetter = objective.direction === "minimize";
  value = trials.values[0] || [];
  hasNetworks = trials.params.some((x) => x > 0);
}

const accent = "#1f5fa8", red = "#b3261e", orange = "#a85a00", green = "#2d7a3e";
const colourOf = {COMPLETE: accent, PRUNED: "#8a94a0", FAIL: red, RUNNING: green, WAITING: orange};

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

let panels = 0;
const page = {main: document.getElementById("main"), contents: document.getElementById("contents"), panel: "", charts: 0};

// What a reader did with a page that is drawn again: kept by the panel and the name of each part.
const kept = {charts: new Map(), choices: new Map(), open: new Set()};
const keyOf = (name) => page.panel + "/" + name;

// Adds a section with a heading, a sentence that says what one sees, and an entry of the contents.
function panel(title, says) {
  const id = "panel-" + ++panels;
  page.panel = title;
  page.charts = 0;
  const section = element("section", {"aria-labelledby": id}, element("h2", {id}, title));
  if (says) section.append(element("p", {class: "says"}, says));
  page.main.append(section);
  page.contents.append(element("li", {}, element("a", {href: "#" + id}, title)));
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
