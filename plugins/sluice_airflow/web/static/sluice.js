// What the pages do beyond showing text: Airflow's light or dark, tables that sort, a filter. All of it is text in, text out.
"use strict";

try {
  const theme = localStorage.getItem("theme"); // where Airflow's UI keeps it
  if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
} catch { /* a frame without storage: the system's choice */ }

const key = (row, column) => {
  const text = row.cells[column].textContent.trim();
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
