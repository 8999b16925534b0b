// What the pages do beyond showing text: Airflow's light or dark, tables that sort, buttons that copy, a form that goes to Airflow's API,
// and links out of the frame.
// All of it is text in, text out.
"use strict";

const takeTheme = () => {
  try {
    const theme = localStorage.getItem("theme"); // where Airflow's UI keeps it
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
  } catch { /* a frame without storage: the system's choice */ }
};
takeTheme();
window.addEventListener("storage", takeTheme); // it was changed around this frame

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

// A run that works: its figures each few seconds, as long as somebody looks at the page and the run works.
for (const live of document.querySelectorAll("[data-live]")) {
  const EVERY = 3000, SLOWER = 15000;
  const says = live.querySelector("[data-says]");
  const tell = (element, text) => { if (element && element.textContent !== text) element.textContent = text; };
  let batches = Number(live.dataset.batches), since = null, timer = 0, over = false;

  // The drawing comes as the page has it. Who is in it by the keyboard is not thrown out.
  const redraw = async () => {
    const old = document.getElementById("so-far");
    if (!old || old.contains(document.activeElement)) return false;
    const answer = await fetch(location.href, { headers: { accept: "text/html" } });
    const made = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("so-far");
    if (!made || old.contains(document.activeElement)) return false;
    const open = [...old.querySelectorAll("details")].map((each) => each.open);
    [...made.querySelectorAll("details")].forEach((each, place) => { each.open = open[place] ?? false; });
    old.replaceWith(document.adoptNode(made));
    return true;
  };

  const end = (text) => {
    over = true;
    const link = document.createElement("a");
    link.href = location.href;
    link.textContent = "See what it did";
    says.replaceChildren(text, " ", link);
    if (document.activeElement === document.body) location.reload(); // the browser keeps the place
  };

  const look = async () => {
    const answer = await fetch(live.dataset.live, { headers: { accept: "application/json" } });
    if (answer.status === 401 || answer.status === 403 || answer.status === 404) { over = true; tell(says, "You may not see this any more: log in again."); return; }
    if (!answer.ok) throw new Error(String(answer.status));
    const run = (await answer.json()).runs.find((each) => each.run_id === live.dataset.runId);
    since = null;
    if (!run || run.standing === "ended") {
      // Its row comes right behind its last sign of life.
      if ((await fetch(live.dataset.run)).ok) end("It has ended.");
      else tell(says, "It ends.");
      return;
    }
    if (run.standing === "died") { end("It died."); return; }
    for (const [name, text] of Object.entries(run.words)) tell(live.querySelector(`[data-tell="${name}"]`), text);
    const progress = live.querySelector("[data-progress]");
    if (run.offsets_left !== null) { progress.max = Math.max(1, run.offsets_done + run.offsets_left); progress.value = run.offsets_done; }
    tell(says, "");
    if (batches !== run.batches && await redraw()) batches = run.batches;
  };

  const turn = async () => {
    clearTimeout(timer);
    if (over || document.hidden) return;
    try {
      await look();
    } catch { // these figures are old, and the page says so
      since ??= new Date().toLocaleTimeString();
      tell(says, `Not reached since ${since}: these figures are older. It is tried again.`);
    }
    if (!over) timer = setTimeout(turn, since ? SLOWER : EVERY);
  };
  document.addEventListener("visibilitychange", turn);
  timer = setTimeout(turn, EVERY);
}
