// The study card, the history, the Pareto front and what values cost.

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
  const {best, costs, tests, spreads, time_to_best, why} = data.found;
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
    if (best.by_value) parent.append(line, element("p", {class: "says"}, "Trial " + best.trial +
        " was chosen by further measurements; the best single value, " + number(best.by_value.value, 5) + ", is that of trial " + best.by_value.trial + "."));
    parent.append(...(best.by_value ? [] : [line]), table("Parameters of the best trial", [
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
  if (time_to_best.length) parent.append(table("Time from the first value to the best, of trials that ended", [
    {title: "of the way", of: (row) => number(100 * row.share) + " %", number: true},
    {title: objective.metric, of: (row) => number(row.value), number: true},
    {title: "trial", of: (row) => String(row.trial), number: true},
    {title: "wall time", of: (row) => isNumber(row.wall_s) ? duration(row.wall_s) : missing, number: true},
    {title: "device time", of: (row) => duration(row.device_s), number: true}], time_to_best));
  if (spreads.length) parent.append(table("Spread over seeds", [
    {title: "of", of: (row) => row.what},
    {title: "runs", of: (row) => String(row.count), number: true},
    {title: "mean", of: (row) => number(row.mean), number: true},
    {title: "standard deviation", of: (row) => number(row.deviation, 3), number: true}], spreads));
}

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
      (best ? ": it ends at " + number((best.by_value || {value: best.values[0]}).value) + " in trial " + (best.by_value || best).trial : "") + ".", 380, () => {
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

function paretoPanel() {
  if (data.objectives.length < 2) return costPanel();
  const section = panel("Pareto front and hypervolume", "Trials that no other beats in every objective are on the front; the hypervolume is what they dominate, up to the worst values seen.");
  const {front, volume, reference, why} = data.pareto;
  if (why) return empty(section, why);
  const at = new Map(trials.trial.map((trial, i) => [trial, i]));
  const shownFront = front.map((trial) => at.get(trial)).filter((i) => i !== undefined);
  const names = data.objectives.map((one) => one.metric);
  const pairs = {};
  for (let a = 0; a < names.length; ++a)
    for (let b = a + 1; b < names.length; ++b) pairs[a + "," + b] = names[a] + " and " + names[b];
  let [a, b] = [0, 1];
  if (names.length > 2) choice(section, "Axes", pairs, (key) => { [a, b] = key.split(",").map(Number); redraw(); });
  const redraw = chart(section, front.length + " trials are on the Pareto front of " + names.join(", ") + ".", 400, () => {
    const onFront = new Set(shownFront), on = [...shownFront].sort((i, j) => trials.values[a][i] - trials.values[a][j]);
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
    {title: "algorithm", of: (i) => trials.algorithm[i]}], shownFront.slice(0, 100))));
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
