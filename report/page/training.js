// Learning curves, workers, the budget, and the credit of the algorithms.

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
