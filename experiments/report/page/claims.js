// Claims of published figures with their verdicts, as plots/claims.py gives them.

const claimUnit = (row) => row.unit || "";
const isOwnTarget = (row) => row.published === "-";
const publishedText = (row) => (isOwnTarget(row) ? "own target" : typeof row.published === "number" ? `${rounded(row.published)}${claimUnit(row)}` : row.published);
// In brackets, with the level; "" where there is none, or none is needed.
const claimInterval = (row) => (row.level > 0 && row.level < 1 ? `[${rounded(row.low)} ${rounded(row.high)}] ${levelText(row.level)}` : "");
const oursText = (row) => (row.ours === null ? "-" : el("span", {}, `${rounded(row.ours)}${claimUnit(row)}`, el("span", { class: "interval" }, ` ${claimInterval(row)}`)));
function limitsText({ from, to, not }) {
  if (from !== undefined && to !== undefined) return `${from} to ${to}${not === undefined ? "" : `, not ${not}`}`;
  if (not !== undefined) return from !== undefined ? `> ${from}` : `< ${to}`;
  return from !== undefined ? `≥ ${from}` : `≤ ${to}`;
}
function verdictText(row) {
  const text = row.verdict === null ? "not judged yet" : row.verdict;
  const mark = { holds: "holds", "does not hold": "fails" }[text] || "open";
  return el("span", { class: `verdict ${mark}` }, text + (row.checks && text !== "not supported here" ? ` (${row.checks})` : ""));
}

// first: columns before those of the claims.
function claimsTable(rows, first = []) {
  return sortable([...first, { title: "claim", kind: "text long", value: (row) => row.claim },
    { title: "published", kind: "text", value: (row) => String(row.published), text: publishedText },
    { title: "ours", kind: "text wrap", value: (row) => row.ours, text: oursText },
    { title: "holds if", kind: "text", value: (row) => limitsText(row.holds_if) },
    { title: "verdict", kind: "text wrap", value: (row) => row.verdict, text: verdictText },
    { title: "why", kind: "text long", value: (row) => row.reason || "" }], rows);
}
