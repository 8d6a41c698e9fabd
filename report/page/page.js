// Puts the panels in their order and draws them.

document.getElementById("subtitle").textContent =
    data.objectives.map((one) => one.direction + " " + one.metric).join(", ");
document.getElementById("made").textContent =
    "Made by detol on " + new Date(1000 * data.made_s).toISOString().slice(0, 16).replace("T", " ") +
    " UTC. Charts by plotly.js. This file asks no network for anything.";

studyCard();
historyPanel();
paretoPanel();
parallelPanel();
importancePanel();
slicePanel();
curvesPanel();
workersPanel();
creditPanel();
networksPanel();
trialsPanel();

loadPlotly().then(() => {
  for (const draw of waiting) draw();
  document.body.dataset.drawn = "yes";
}).catch((error) => {
  console.error(error);
  for (const place of document.querySelectorAll(".chart"))
    place.replaceChildren(element("p", {class: "empty"},
        "This browser cannot draw the charts: " + error.message));
});
