// The loss around trained networks: along random directions, and in the plane of their training.

// A contour of the loss; of one that spans orders of magnitude, of its logarithm.
function contour(of) {
  const all = of.loss.flat().filter(isNumber);
  const low = Math.min(...all), high = Math.max(...all);
  const isLog = low > 0 && high > 20 * low;
  const z = of.loss.map((row) => row.map((x) => !isNumber(x) ? null : isLog ? Math.log10(x) : x));
  const ticks = isLog ? [1, 2, 5].flatMap((digit) => Array.from({length: 24}, (_, k) => digit * 10 ** (k - 12)))
      .filter((x) => x >= low && x <= high) : [];
  return {type: "contour", x: of.x, y: of.y, z, colorscale: "Viridis", ncontours: 24, line: {width: 0.5, color: "#ffffff"},
    text: of.loss.map((row) => row.map((x) => number(x))), hovertemplate: "loss %{text}<extra></extra>",
    colorbar: {title: {text: "loss", side: "right"}, thickness: 12, ...(isLog ? {tickvals: ticks.map(Math.log10), ticktext: ticks.map(String)} : {})}};
}

const marks = (name, mode, x, y, words, more) => ({type: "scatter", mode, name, x, y, text: words,
  hovertemplate: "%{text}<extra></extra>", ...more});

function landscapesPanel() {
  if (!data.landscapes) return;  // of a study that trains no networks
  const section = panel("Loss landscape", "The validation loss around a trial's final weights, which the cross marks. " +
      "Running statistics of batch norm stay those of the final weights.");
  const {shown, why} = data.landscapes;
  if (why) return empty(section, why);
  let one = shown[0];
  const below = element("div");
  if (shown.length > 1) choice(section, "Trial", Object.fromEntries(shown.map((other, k) => [k, "trial " + other.trial])), (k) => { one = shown[k]; show(); redraws.forEach((draw) => draw()); });
  section.append(below);
  const redraws = [];
  const says = element("p", {class: "says"}), grid = element("div", {class: "columns"}), points = element("div");
  below.append(says, grid, points);
  const part = (title) => {
    const made = element("div", {}, element("h3", {}, title));
    grid.append(made);
    return made;
  };
  const final = () => marks("final weights", "markers", [0], [0], ["final weights: loss " + number(one.loss)],
      {marker: {symbol: "cross", size: 13, color: "#ffffff", line: {color: "#1c2126", width: 1.5}}});
  const layout = (x, y) => ({xaxis: axis(x), yaxis: axis(y), showlegend: false});
  redraws.push(chart(part("Along two random directions"), "Contours of the loss along two random directions, whose filters are as long as the network's own.", 400,
      () => ({traces: [contour(one.random), final()], layout: layout("first direction", "second direction")})));
  redraws.push(chart(part("Along its training"), "Contours of the loss in the plane in which the weights moved most, with their path.", 400, () => {
    const {x, y, epoch, loss} = one.path.points;
    const words = epoch.map((e, k) => (e === 0 ? "before training" : "epoch " + e + ": loss " + number(loss[k])));
    return {traces: [contour(one.path), {type: "scatter", mode: "lines", x, y, hoverinfo: "skip", line: {color: "#1c2126", width: 5}}, marks("path", "lines+markers", x, y, words, {line: {color: "#ffffff", width: 2.5},
        marker: {size: 6, color: "#ffffff", line: {color: "#1c2126", width: 1}}}), final()],
      layout: layout(...one.path.explained.map((part, k) => (k ? "second" : "first") + " component (" + share(part) + ")"))};
  }));
  const show = () => {
    says.textContent = "Trial " + one.trial + " was trained once more for " + one.epochs + (one.epochs === 1 ? " epoch" : " epochs") +
        (one.repeats ? ", with the same numbers as before; " : ", but its numbers were others than before; ") +
        "each point is the loss of " + one.images + " validation images. The two components have " + share(one.path.explained[0]) + " and " +
        share(one.path.explained[1]) + " of the variance of its path.";
    const path = one.path.points;
    points.replaceChildren(details("The path as a table", table("Path of trial " + one.trial, [
      {title: "epoch", of: (k) => String(path.epoch[k])},
      {title: "validation loss", of: (k) => number(path.loss[k]), number: true},
      {title: "first component", of: (k) => number(path.x[k]), number: true},
      {title: "second component", of: (k) => number(path.y[k]), number: true}], path.epoch.map((_, k) => k))));
  };
  show();
}
