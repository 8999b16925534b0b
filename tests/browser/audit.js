// What is wrong with the page for a reader and axe does not say: tables without a name or heads, width. Runs in the page, by tests/browser/audit.py.
() => {
  const found = { tables: [] };
  for (const table of document.querySelectorAll("table")) {
    const name = table.caption?.textContent.trim() || table.getAttribute("aria-label");
    const heads = [...table.querySelectorAll("th")];
    if (!name || !heads.length || heads.some((head) => !head.scope)) found.tables.push(name || table.outerHTML.slice(0, 120));
  }
  found.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return found;
}
