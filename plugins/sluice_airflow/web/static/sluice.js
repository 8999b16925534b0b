// What the pages do beyond showing text: Airflow's light or dark, tables that sort, a filter, buttons that copy, and links out of the frame.
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

// Airflow shows the pages in a frame that may not leave itself: Airflow's own document follows the link.
for (const link of document.querySelectorAll("a[data-airflow]")) {
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
