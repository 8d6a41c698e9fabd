// The table of trials of a running study: sorted, searched and paged by the program.

const asked = {sort: "trial", down: true, words: "", page: 0};
let newest = -1;  // the number of the last trial that was seen

// A column: {title, sort: what the program sorts by, of: i => text, number}
function liveColumns(rows) {
  const column = (title, name, format, isNumeric, sort = name) => ({title, sort, number: isNumeric, of: (i) => format(rows[name][i])});
  const columns = [column("trial", "trial", String, true), column("state", "state", text)];
  goalsOfStudy().forEach((one, k) => columns.push({title: one.metric, sort: "value" + k, number: true,
    bestIsLargest: one.direction === "maximize", of: (i) => number(rows.values[k][i], 5)}));
  const names = data ? byImportance().slice(0, 4).map((one) => one.name) : Object.keys(rows.choices[0] || {}).slice(0, 4);
  for (const name of names) columns.push({title: short(name), number: false, of: (i) => text((rows.choices[i] || {})[name])});
  columns.push(column("epochs", "epochs", number, true), column("device time", "device_s", duration, true),
      column("duration", "duration_s", duration, true), column("algorithm", "algorithm", text));
  if (rows.params.some((x) => x > 0)) columns.push(column("weights", "params", big, true));
  columns.push({title: "remarks", of: (i) => [rows.failure[i], rows.reason[i],
    (rows.tags[i] || []).map((tag) => "#" + tag).join(" "), rows.note[i]].filter(Boolean).join("; ")});
  return columns;
}

const canBeRetried = ["crashed", "timeout", "oom"];

// Makes the section; `change` is called when another page is wanted, {note, prune, retry} to act on
// a trial.
function liveTable(change, acts) {
  const section = element("section", {"aria-labelledby": "trials-title"}, element("h2", {id: "trials-title"}, "Trials"));
  const head = element("tr"), body = element("tbody"), says = element("span", {role: "status"});
  const button = (words, act) => {
    const made = element("button", {type: "button"}, words);
    made.addEventListener("click", act);
    return made;
  };
  const turn = (step) => () => { asked.page += step; change(); };
  const back = button("Previous", turn(-1)), on = button("Next", turn(1));
  const search = element("input", {type: "search", id: "wanted"});
  search.addEventListener("input", () => { asked.words = search.value; asked.page = 0; change(); });
  search.value = asked.words;
  section.append(element("div", {class: "pages"}, element("label", {for: "wanted"}, "Only rows with "), search, says, back, on),
      element("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of trials"},
        element("table", {id: "trials"}, element("caption", {}, "Trials; a heading sorts by its column"),
          element("thead", {}, head), body)));

  const sorter = (column) => button(column.title, () => {
    asked.down = asked.sort === column.sort ? !asked.down : column.bestIsLargest || column.sort === "trial";
    asked.sort = column.sort;
    asked.page = 0;
    change();
  });

  function showHead(columns) {
    const titles = columns.map((column) => column.title).join("\n");
    if (head.dataset.titles !== titles) head.replaceChildren(...columns.map((column) => element("th",
        {scope: "col", class: column.number ? "number" : "text"}, column.sort ? sorter(column) : column.title)));
    head.dataset.titles = titles;
    columns.forEach((column, k) => column.sort === asked.sort ?
        head.children[k].setAttribute("aria-sort", asked.down ? "descending" : "ascending") :
        head.children[k].removeAttribute("aria-sort"));
  }

  return {section, show(answer) {
    const rows = answer.trials, columns = liveColumns(rows), seen = newest;
    showHead(columns);
    const focused = [...body.querySelectorAll("button")].indexOf(document.activeElement);
    body.replaceChildren(...rows.trial.map((trial, i) => {
      const line = element("tr", seen >= 0 && trial > seen ? {class: "new"} : {});
      columns.forEach((column, k) => line.append(k === 0 ? element("th", {scope: "row", class: "number"}, column.of(i)) :
          element("td", {class: column.number ? "number" : column.title === "remarks" ? "words" : "short"}, column.of(i))));
      const offer = (words, act) => {
        const made = button(words, () => act(trial, rows.note[i]));
        made.setAttribute("aria-label", words + (words === "Note" ? " on trial " : " trial ") + trial);
        line.lastChild.prepend(made, " ");
      };
      if (rows.state[i] === "RUNNING") offer("Prune", acts.prune);
      if (rows.state[i] === "FAIL" && canBeRetried.includes(rows.failure[i])) offer("Retry", acts.retry);
      offer("Note", acts.note);
      return line;
    }));
    if (focused >= 0) (body.querySelectorAll("button")[focused] || search).focus({preventScroll: true});
    newest = Math.max(newest, answer.of - 1);
    const pages = Math.max(1, Math.ceil(answer.matching / answer.size));
    asked.page = Math.min(asked.page, pages - 1);
    back.disabled = asked.page === 0;
    on.disabled = asked.page + 1 >= pages;
    back.hidden = on.hidden = pages === 1;
    says.textContent = answer.matching + (answer.matching < answer.of ? " of " + answer.of : "") + " trials" +
        (pages > 1 ? ", page " + (asked.page + 1) + " of " + pages : "");
  }};
}
