// What is wrong with the page for a reader: contrast, names, tables, width. Runs in the page, by tests/browser/audit.py.
() => {
  const found = { contrast: [], unnamed: [], tables: [], wide: 0, texts: 0 };
  const shown = (element) => element.checkVisibility({ visibilityProperty: true, opacityProperty: true });
  const parsed = (text) => {
    const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number);
    return { r, g, b, a };
  };
  const over = (front, back) => ({
    r: front.r * front.a + back.r * (1 - front.a),
    g: front.g * front.a + back.g * (1 - front.a),
    b: front.b * front.a + back.b * (1 - front.a),
    a: 1,
  });
  // The colour behind an element. Under all of them the canvas is white, or nearly black where the page says that it is dark.
  const behind = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) layers.push(parsed(getComputedStyle(each).backgroundColor));
    const dark = getComputedStyle(document.documentElement).colorScheme.includes("dark");
    const canvas = dark ? { r: 18, g: 18, b: 18, a: 1 } : { r: 255, g: 255, b: 255, a: 1 };
    return layers.reverse().reduce((back, layer) => over(layer, back), canvas);
  };
  // WCAG 2.2: relative luminance, and the ratio of two.
  const luminance = ({ r, g, b }) => {
    const [x, y, z] = [r, g, b].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const ratio = (one, other) => {
    const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    const text = node.textContent.trim();
    if (!text || !shown(element) || element.closest("script, style, title, desc, option")) continue;
    const style = getComputedStyle(element);
    const back = behind(element);
    const colour = element instanceof SVGElement ? style.fill : style.color;
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    const measured = ratio(over(parsed(colour), back), back);
    found.texts += 1;
    if (measured < (large ? 3 : 4.5)) found.contrast.push(`${text.slice(0, 40)}: ${measured.toFixed(2)}`);
  }

  const named = (element) =>
    (element.getAttribute("aria-label") || "").trim() ||
    (element.getAttribute("aria-labelledby") || "").split(" ").map((id) => document.getElementById(id)?.textContent || "").join("").trim() ||
    [...(element.labels || [])].map((label) => label.textContent).join("").trim() ||
    (element.getAttribute("title") || "").trim() ||
    element.textContent.trim();
  for (const element of document.querySelectorAll("a[href], button, input, select, textarea, summary, [role=img], svg[role]"))
    if (shown(element) && element.type !== "hidden" && !named(element)) found.unnamed.push(element.outerHTML.slice(0, 120));

  for (const table of document.querySelectorAll("table")) {
    const name = table.caption?.textContent.trim() || table.getAttribute("aria-label");
    const heads = [...table.querySelectorAll("th")];
    if (!name || !heads.length || heads.some((head) => !head.scope)) found.tables.push(name || table.outerHTML.slice(0, 120));
  }
  found.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return found;
}
