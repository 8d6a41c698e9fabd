// The page that follows a study: it asks the program for the numbers of the panels, and hears of
// every change.

const wanted = new URLSearchParams(location.hash.slice(1));
if (wanted.has("token")) {
  sessionStorage.setItem("detol-token", wanted.get("token"));
  wanted.delete("token");
  history.replaceState(null, "", "#" + wanted);
}
const at = (id) => document.getElementById(id);
let study = wanted.get("study"), studies = [], shownLast = -1, tableLast = -1, live = null, stopper = null, timer = 0, isAsking = false;

const current = () => studies.find((one) => one.name === study);
const noteOfStudy = () => ((data && data.card.find((row) => row[0] === "Note")) || [])[1] || "";
const goalsOfStudy = () => (data && data.study === study ? data.objectives : (current() || {objectives: []}).objectives);

async function ask(path, body) {
  const answer = await fetch(path, {method: body ? "POST" : "GET", body: body && JSON.stringify(body),
    headers: {"X-Detol-Token": sessionStorage.getItem("detol-token") || ""}});
  if (answer.ok) return answer;
  throw Error((await answer.json().catch(() => ({error: "the program answered " + answer.status}))).error);
}

function say(words, isLost = false) {
  at("live").textContent = words;
  at("live").className = isLost ? "lost" : "";
}

// Charts that were drawn once are drawn again when they are in view.
const pending = new WeakMap();
const inView = new IntersectionObserver((entries) => entries.forEach(({target, isIntersecting}) => {
  if (!isIntersecting || !pending.has(target)) return;
  pending.get(target)();
  pending.delete(target);
}), {rootMargin: "300px"});

async function drawNew() {
  for (const draw of waiting.splice(0)) {
    if (!draw.place || !draw.place.classList.contains("js-plotly-plot")) {
      waiting.push(draw);
      continue;
    }
    pending.set(draw.place, draw);
    inView.unobserve(draw.place);
    inView.observe(draw.place);
  }
  await drawCharts();
}

// Draws all panels again and keeps what the reader did: charts, choices, what is open, the focus.
async function drawPanels(model) {
  take(model);
  const focusable = () => [...at("main").querySelectorAll("a, button, input, summary, [tabindex]")];
  const focused = focusable().indexOf(document.activeElement);
  for (const place of document.querySelectorAll("#main .chart")) kept.charts.set(place.dataset.key, place);
  page.main = document.createDocumentFragment();
  page.contents = document.createDocumentFragment();
  panels = 0;
  waiting.length = 0;
  for (const draw of panelsInOrder) draw();
  for (const place of kept.charts.values()) {
    inView.unobserve(place);
    Plotly.purge(place);
  }
  kept.charts.clear();
  at("main").replaceChildren(page.main);
  at("contents").replaceChildren(page.contents);
  if (focused >= 0 && focusable()[focused]) focusable()[focused].focus({preventScroll: true});
  at("made").textContent = "Panels of " + madeAt() + ". Charts by plotly.js.";
  await drawNew();
}

// Asks for the panels, and again when the program says that newer ones can be had.
async function refreshPanels() {
  clearTimeout(timer);
  timer = 0;
  if (isAsking || !study || document.hidden) return;
  isAsking = true;
  const name = study, began = performance.now();
  try {
    const answer = await (await ask("/api/model?study=" + encodeURIComponent(name))).json();
    if (name === study && answer.last !== shownLast) {
      shownLast = answer.last;
      await drawPanels(answer.model);
    }
    if (answer.again_s > 0) timer = setTimeout(refreshPanels, 1000 * answer.again_s + 50);
    else if (current() && current().last > answer.last) timer = setTimeout(refreshPanels, Math.max(500, performance.now() - began));
  } catch (error) {
    if (name === study) sayWhyNotDrawn(error);
    if (name === study) say("The panels cannot be shown: " + error.message, true);
  }
  isAsking = false;
  if (name !== study) refreshPanels();
}

async function refreshTable() {
  const name = study;
  const query = new URLSearchParams({study: name, sort: asked.sort, down: asked.down ? 1 : 0, words: asked.words, page: asked.page});
  try {
    const answer = await (await ask("/api/trials?" + query)).json();
    if (name !== study || !live) return;
    live.show(answer);
    tableLast = answer.last;
  } catch (error) {
    say("The trials cannot be shown: " + error.message, true);
  }
}

// Asks for a text or a yes in the dialog, then tells the program; `key` is what the text is there.
function act(title, words, body, key = "note") {
  const box = element(key === "note" ? "textarea" : "input", {"aria-label": title}), dialog = at("ask"), says = element("p", {role: "alert"});
  box.value = words === null ? "" : words;
  const button = (label, press) => {
    const made = element("button", {type: "button"}, label);
    made.addEventListener("click", press);
    return made;
  };
  const send = async () => {
    try {
      await ask("/api/action", {...body, study, ...(words === null ? {} : {[key]: box.value})});
      dialog.close();
      shownLast = -1;
      refreshTable();
      refreshPanels();
    } catch (error) {
      says.textContent = error.message;
    }
  };
  if (key !== "note") box.addEventListener("keydown", (event) => { if (event.key === "Enter") send(); });
  dialog.replaceChildren(element("h2", {id: "asked"}, title), ...(words === null ? [] : [box]), says,
      element("div", {class: "actions"}, button(words === null ? "Yes" : key === "note" ? "Save" : "Add", send), button("Cancel", () => dialog.close())));
  dialog.showModal();
}

function showStudy(name) {
  study = name;
  shownLast = tableLast = newest = -1;
  data = undefined;
  const isRun = !current() || current().is_run, goal = goalsOfStudy()[0];
  Object.assign(asked, {sort: isRun || !goal ? "trial" : "value0", down: isRun || !goal || goal.direction === "maximize", words: "", page: 0});
  history.replaceState(null, "", "#" + new URLSearchParams({study: name}));
  document.title = name + " – detol dashboard";
  at("title").textContent = name;
  live = liveTable(refreshTable, {
    note: (trial, note) => act("Note on trial " + trial, note || "", {action: "note", trial}),
    prune: (trial) => act("Prune trial " + trial + "? It ends with what it has reported, after its next report.", null, {action: "prune", trial}),
    retry: (trial) => act("Train trial " + trial + " again?", null, {action: "retry", trial})});
  const press = (label, act) => {
    const made = element("button", {type: "button"}, label);
    made.addEventListener("click", act);
    return made;
  };
  at("now").replaceChildren(element("div", {class: "actions"},
      press("Note on the study", () => act("Note on " + name, noteOfStudy(), {action: "note"})),
      press("Raise the budget", () => act("Add to the budget of " + name + ", for example 1cpu-h or 20trials", "", {action: "budget"}, "more")),
      stopper = press("Stop the search", () => act("Stop the search of " + name + "? It can be resumed.", null, {action: "stop"}))), live.section);
  at("main").replaceChildren();
  at("contents").replaceChildren();
  showStudies();
  refreshTable();
  refreshPanels();
}

function showStudies() {
  const link = (one) => {
    const made = element("a", {href: "#" + new URLSearchParams({study: one.name})}, one.name);
    made.addEventListener("click", (event) => { event.preventDefault(); showStudy(one.name); });
    return made;
  };
  const focused = [...at("list").querySelectorAll("a")].indexOf(document.activeElement);
  const shown = table(studies.length + (studies.length === 1 ? " study" : " studies"), [
    {title: "study", of: link},
    {title: "state", of: (one) => one.state},
    {title: "trials", of: (one) => String(one.trials), number: true},
    {title: "best", of: (one) => number(one.best), number: true}], studies);
  [...shown.querySelectorAll("tbody tr")].forEach((line, i) => line.setAttribute("aria-current", studies[i].name === study));
  at("list").replaceChildren(shown);
  if (focused >= 0) (shown.querySelectorAll("a")[focused] || at("list")).focus({preventScroll: true});
  const one = current();
  if (one && stopper) stopper.hidden = !one.is_run;
  if (one) say(one.is_run ? "Live: changes appear as they are committed." : one.state === "DONE" ? "The search is done." :
      "Nobody runs this study; `detol resume " + one.name + "` goes on.");
  if (one) at("subtitle").textContent = one.state + ", " + one.trials + " trials" +
      (isNumber(one.best) ? ", best " + number(one.best, 5) : "") +
      (one.objectives.length ? " (" + one.objectives.map((goal) => goal.direction + " " + goal.metric).join(", ") + ")" : "");
}

function happened(news) {
  studies = news.studies;
  if (!studies.length) return say("There is no study yet; `detol search` makes one.");
  if (!current()) return showStudy(studies[0].name);
  if (!live) return showStudy(study);
  showStudies();
  if (current().last !== tableLast) refreshTable();
  if (current().last !== shownLast && !timer) refreshPanels();
}

async function follow() {
  for (;;) {
    try {
      const parts = (await ask("/api/events")).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let rest = "";;) {
        const {value, done} = await parts.read();
        if (done) break;
        const events = (rest + value).split("\n\n");
        rest = events.pop();
        for (const one of events) if (one.startsWith("data: ")) happened(JSON.parse(one.slice(6)));
      }
      say("The dashboard has ended; trying again.", true);
    } catch (error) {
      say("No connection: " + error.message + "; trying again.", true);
    }
    await new Promise((done) => setTimeout(done, 2000));
  }
}

document.addEventListener("visibilitychange", refreshPanels);
follow();
