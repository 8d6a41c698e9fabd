// Puts the panels in their order and draws them.

const panelsInOrder = [studyCard, historyPanel, paretoPanel, parallelPanel, importancePanel, slicePanel, curvesPanel,
  workersPanel, creditPanel, networksPanel, landscapesPanel];

// Draws the charts one after the other, so that the page answers in between.
async function drawCharts() {
  for (const draw of waiting.splice(0)) {
    draw();
    await new Promise((done) => setTimeout(done));
  }
  document.body.dataset.drawn = "yes";
}

function sayWhyNotDrawn(error) {
  console.error(error);
  for (const place of document.querySelectorAll(".chart"))
    place.replaceChildren(element("p", {class: "empty"},
        "This browser cannot draw the charts: " + error.message));
}

const goals = () => data.objectives.map((one) => one.direction + " " + one.metric).join(", ");
const madeAt = () => new Date(1000 * data.made_s).toISOString().slice(0, 16).replace("T", " ") + " UTC";

// Draws the page of a report, whose file has everything.
function drawReport() {
  take(JSON.parse(document.getElementById("data").textContent));
  document.getElementById("subtitle").textContent = goals();
  document.getElementById("made").textContent =
      "Made by detol on " + madeAt() + ". Charts by plotly.js. This file asks no network for anything.";
  for (const draw of [...panelsInOrder, trialsPanel]) draw();
  loadPlotly().then(drawCharts).catch(sayWhyNotDrawn);
}
