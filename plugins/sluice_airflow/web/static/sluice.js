// What the pages do beyond showing text: Airflow's light or dark, tables that sort, a filter, buttons that copy, a form that goes to Airflow's API,
// and links out of the frame.
// All of it is text in, text out.
"use strict";

try {
  const theme = localStorage.getItem("theme"); // where Airflow's UI keeps it
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch { /* a frame without storage: the system's choice */ }

const key = (row, column) => {
  const text = row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
  const number = Number(text.replaceAll(",", ""));
  return text !== "" && !Number.isNaN(number) ? number : text;
};

for (const table of document.querySelectorAll("table[data-sortable]")) {
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const button = document.createElement("button");
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const up = head.getAttribute("aria-sort") !== "ascending";
      for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...table.tBodies[0].rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y));
        return up ? order : -order;
      });
      table.tBodies[0].append(...rows);
    });
  });
}

for (const field of document.querySelectorAll("input[data-filter]")) {
  field.addEventListener("input", () => {
    const wanted = field.value.toLowerCase();
    for (const row of document.getElementById(field.dataset.filter).tBodies[0].rows)
      row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
}

for (const code of document.querySelectorAll("code[data-copy]")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.setAttribute("aria-label", `copy ${code.textContent}`);
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch { // without TLS a browser has no clipboard: the text is marked, for the keyboard
      getSelection().selectAllChildren(code);
      button.textContent = "marked";
    }
  });
  code.after(" ", button);
}

// A form of a DAG goes to Airflow's own API, as Airflow's form does, with the cookie of the person who is logged in.
for (const form of document.querySelectorAll("form[data-trigger]")) {
  const says = form.querySelector("[role=status]");
  const button = form.querySelector("button");
  if (!button) continue; // for a person who may not
  const value = (field) => (field.type === "number" ? Number(field.value) : field.value);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const filled = [...form.elements].filter((field) => field.name && field.value !== "");
    const conf = Object.fromEntries(filled.map((field) => [field.name, value(field)]));
    button.disabled = true;
    says.className = "";
    says.textContent = "starting ...";
    try {
      const answer = await fetch(form.dataset.trigger, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ logical_date: null, conf }),
      });
      const found = await answer.json();
      if (!answer.ok) throw new Error(typeof found.detail === "string" ? found.detail.split("\n")[0] : JSON.stringify(found.detail ?? found));
      const link = document.createElement("a");
      link.href = form.dataset.run + encodeURIComponent(found.dag_run_id);
      link.textContent = found.dag_run_id;
      outOfTheFrame(link);
      says.replaceChildren("started: ", link);
    } catch (error) {
      says.className = "bad";
      says.textContent = `not started: ${error.message}`;
      button.disabled = false;
    }
  });
}

// Airflow shows the pages in a frame that may not leave itself: Airflow's own document follows the link.
function outOfTheFrame(link) {
  link.addEventListener("click", (event) => {
    if (window.parent === window) return;
    try {
      const outside = window.parent.document.createElement("a");
      outside.href = link.href;
      window.parent.document.body.append(outside);
      outside.click();
      outside.remove();
      event.preventDefault();
    } catch { /* a frame of another origin: the link opens within it */ }
  });
}

for (const link of document.querySelectorAll("a[data-airflow]")) outOfTheFrame(link);
