// The table of all trials.

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
    bestIsLargest: one.direction === "maximize", at: (i) => trials.values[k][i], of: (i) => number(trials.values[k][i], 5)}));
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
  // The best come first, proposals that were never tried last.
  const isTried = (i) => trials.state[i] !== "WAITING" || trials.epochs[i] > 0;
  let rows = trials.trial.map((_, i) => i), page = 0, by = data.objectives.length ? 2 : 0, up = !columns[by].bestIsLargest, wanted = "";
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
    button.addEventListener("click", () => { up = by === k ? !up : !column.bestIsLargest; by = k; page = 0; arrange(); });
    head.append(element("th", {scope: "col", class: column.number ? "number" : "text"}, button));
  });
  const search = element("input", {type: "search", id: "wanted"});
  search.addEventListener("input", () => { wanted = search.value.toLowerCase(); page = 0; arrange(); });

  function arrange() {
    const {at} = columns[by];
    rows = trials.trial.map((_, i) => i).filter((i) => !wanted ||
        columns.some((column) => column.of(i).toLowerCase().includes(wanted)));
    rows.sort((a, b) => {
      if (isTried(a) !== isTried(b)) return isTried(b) - isTried(a);
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
