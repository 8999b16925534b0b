// The overview: which lines are shown, and the arrow keys within a strip of runs.
"use strict";

for (const form of document.querySelectorAll("form[data-filters]")) {
  const rows = [...document.getElementById(form.dataset.filters).tBodies[0].rows];
  const show = () => {
    const [trouble, text] = [form.elements.trouble.value, form.elements.text.value.toLowerCase()];
    for (const row of rows) {
      const has = row.dataset.troubles;
      const wanted = trouble === "" || (trouble === "*" ? has !== "" : has.split("|").includes(trouble));
      row.hidden = !(wanted && row.textContent.toLowerCase().includes(text));
    }
    const shown = rows.filter((row) => !row.hidden).length;
    form.querySelector("output").textContent = shown === rows.length ? "" : `${shown} of ${rows.length} shown`;
  };
  form.addEventListener("input", show);
  form.addEventListener("submit", (event) => event.preventDefault());
  show(); // a browser that goes back fills in what was chosen
}

const TO = { ArrowLeft: (at) => at - 1, ArrowRight: (at) => at + 1, Home: () => 0, End: (_, last) => last };
for (const strip of document.querySelectorAll("svg.runs")) {
  strip.addEventListener("keydown", (event) => {
    const links = [...strip.querySelectorAll("a")];
    const at = links.indexOf(document.activeElement);
    const next = at >= 0 && TO[event.key] && links[TO[event.key](at, links.length - 1)];
    if (!next) return;
    event.preventDefault();
    links[at].setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  });
}
