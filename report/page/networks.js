// The best networks and what differs.

function networksPanel() {
  if (!data.networks) return;  // of a study whose candidates are not networks
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
