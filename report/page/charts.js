// Charts by plotly.js, and what they share.

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
  const key = keyOf(++page.charts);
  const place = kept.charts.get(key) || element("div", {class: "chart", role: "img", "aria-label": says});
  kept.charts.delete(key);
  place.dataset.key = key;
  place.setAttribute("aria-label", says);
  parent.append(place);
  const redraw = () => {
    const {traces, layout} = plain(draw());
    const narrow = place.clientWidth < 520;
    Plotly.react(place, traces, {height, margin: {l: 56, r: narrow ? 12 : 24, t: 12, b: 48},
      font: {family: "system-ui, sans-serif", size: narrow ? 11 : 13, color: "#1c2126"},
      paper_bgcolor: "#fff", plot_bgcolor: "#fff", hovermode: "closest",
      uirevision: [layout.xaxis, layout.yaxis].map((one) => one && one.title.text).join("/"), legend: {orientation: "h", y: 1.02, yanchor: "bottom", x: 0},
      ...layout}, {responsive: true, displaylogo: false, displayModeBar: height < 300 || narrow ? false : "hover",
      modeBarButtonsToRemove: ["lasso2d", "select2d", "autoScale2d"]});
  };
  redraw.place = place;
  waiting.push(redraw);
  return () => { if (window.Plotly) redraw(); };
}

// Adds radio buttons; calls `change` with the chosen key.
function choice(parent, legend, options, change) {
  const set = element("fieldset", {class: "switch"}, element("legend", {}, legend));
  const name = "choice-" + ++panels, place = keyOf(legend);
  Object.entries(options).forEach(([key, words], i) => {
    const input = element("input", {type: "radio", name, value: key, id: name + "-" + i});
    input.checked = i === 0;
    input.addEventListener("change", () => { kept.choices.set(place, key); change(key); });
    if (kept.choices.get(place) === key && i > 0) {
      input.checked = true;
      waiting.push(() => change(key));
    }
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
