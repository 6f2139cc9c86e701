// Tables whose rows are ordered by a column: each title is a button, so that keys reach it.

// columns: { title, text, value, kind } with value(row) for the order and text(row), a string or an element, to be read.
function sortable(columns, rows, caption) {
  const body = el("tbody");
  const heads = columns.map((column) => {
    const button = el("button", { type: "button", title: column.tip || "order by this column" }, column.title);
    const head = el("th", { scope: "col", class: column.kind ? column.kind.split(" ")[0] : undefined }, button);
    button.addEventListener("click", () => order(column, head));
    return head;
  });
  const rowOf = (row) => el("tr", {}, ...columns.map((column) => {
    const text = column.text ? column.text(row) : column.value(row);
    return el("td", { class: column.kind }, typeof text === "number" ? rounded(text) : text);
  }));
  const show = (ordered) => {
    body.replaceChildren();
    for (const row of ordered) body.append(rowOf(row));
  };
  function order(column, head) {
    const descending = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    const sign = descending ? -1 : 1;
    show([...rows].sort((a, b) => {
      const [x, y] = [column.value(a), column.value(b)];
      if (x === null || x === undefined) return 1;  // What has no value comes last either way.
      if (y === null || y === undefined) return -1;
      return sign * (typeof x === "string" ? x.localeCompare(y) : x - y);
    }));
  }
  show(rows);
  const table = el("table", {}, caption ? el("caption", { class: "soft" }, caption) : null, el("thead", {}, el("tr", {}, ...heads)), body);
  return el("div", { class: "scroll" }, table);
}

// "41.2 [40.1 43.0]". What is next to nothing has no digits worth their place.
function medianText(entry, digits = 3) {
  if (!entry) return "-";
  if (entry.median > 0 && entry.median < 1e-3) return "< 0.001";
  const bound = (value) => (value > 0 && value < 1e-3 ? "< 0.001" : rounded(value, digits));
  const interval = entry.low === undefined ? "" : el("span", { class: "interval" }, ` [${bound(entry.low)} ${bound(entry.high)}]`);
  return el("span", {}, rounded(entry.median, digits), interval);
}

function facts(pairs) {
  return el("div", { class: "scroll" }, el("table", {}, el("tbody", {}, ...pairs.filter(([, value]) => value !== undefined && value !== null && value !== "")
    .map(([name, value]) => el("tr", {}, el("th", { scope: "row", class: "text" }, name), el("td", { class: "text long" }, String(value)))))));
}
