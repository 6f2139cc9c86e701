// All published figures: what holds, what each took, its picture and its claims.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const minutes = (seconds) => (seconds === null || seconds === undefined ? "-" : (seconds / 60).toFixed(1));
const megabytes = (bytes) => (bytes === null || bytes === undefined ? "-" : rounded(bytes / 1e6, 2));
const idOf = (figure) => `${figure.name}${figure.quick ? "-quick" : ""}`;
const nameOf = (figure) => `${figure.name}${figure.quick ? " (quick)" : ""}`;
const linkTo = (figure) => el("a", { href: `#${idOf(figure)}` }, nameOf(figure));
const count = (figure, verdict) => figure.claims.filter((claim) => claim.verdict === verdict).length;

// null of what there is none.
function countsText({ all, hold, direction_only, do_not_hold, not_supported_here, not_judged }, of) {
  if (all === 0) return null;
  return el("p", {}, el("b", {}, `${of(all)} ${hold} hold`), direction_only > 0 ? ` (${direction_only} of them checked for direction only), ` : ", ", el("b", {}, `${do_not_hold} do not hold`),
    `, ${not_supported_here} are not supported here${not_judged > 0 ? `, ${not_judged} are not judged yet` : ""}.`);
}

const plural = (number, noun) => `${number} ${noun}${number === 1 ? "" : "s"}`;

// Of figures whose cells are known: what of them is to be taken with care.
function cellsAnswer() {
  const known = data.figures.filter(({ cells }) => cells), sum = (value) => known.reduce((all, { cells }) => all + value(cells), 0);
  const marked = sum((cells) => cells.marked), failed = sum((cells) => cells.failed.length), lost = sum((cells) => cells.lost.length);
  const among = (value) => plural(known.filter(({ cells }) => value(cells) > 0).length, "figure");
  const parts = [marked > 0 && `${marked} of ${plural(sum((cells) => cells.all), "cell")} may mislead and ${marked === 1 ? "is" : "are"} marked, in ${among((cells) => cells.marked)}`,
                 failed > 0 && `${failed} failed, in ${among((cells) => cells.failed.length)}`,
                 lost > 0 && `${lost} lost jobs and ${lost === 1 ? "is" : "are"} left out, in ${among((cells) => cells.lost.length)}`].filter(Boolean);
  const untold = data.figures.filter(({ cells, status }) => !cells && status === "whole").length;
  if (untold > 0) parts.push(`of ${plural(untold, "figure")} that an earlier cosched judged it is not known which cells are marked`);
  return parts.length === 0 ? null : el("p", { class: "care" }, el("b", {}, "Take it with care: "), `${parts.join("; ")}. The table below says which, each figure why.`);
}

function answer() {
  const whole = data.figures.filter((figure) => figure.status === "whole").length;
  const others = ["failed", "interrupted", "planned", "not supported here"].map((status) => [status, data.figures.filter((figure) => figure.status === status).length])
    .filter(([, figures]) => figures > 0).map(([status, figures]) => `${figures} ${status === "planned" ? "not run yet" : status}`);
  const quick = data.figures.some((figure) => figure.quick);
  return el("div", { class: "answer" },
    countsText(data.claims.of_publications, (all) => `Of ${plural(all, "claim")} of publications`),
    countsText(data.claims.own_targets, (all) => `Of ${plural(all, "target")} of our own, of which nothing is published,`),
    el("p", {}, `${whole} of ${data.figures.length} figures are whole${others.length ? `; ${others.join(", ")}` : ""}.`),
    cellsAnswer(),
    quick ? el("p", {}, "Figures marked (quick) had few trials and short jobs: they show that all works, and decide little.") : null);
}

const leftOut = ({ failed, lost }) => failed.length + lost.length;

function figuresTable() {
  const took = (figure, member) => (figure.took ? figure.took[member] : null);
  return sortable([
    { title: "figure", kind: "text", value: nameOf, text: linkTo },
    { title: "status", kind: "text long", value: (figure) => (figure.status === "planned" ? "not run yet" : figure.status) + (figure.why ? `: ${figure.why}` : "") },
    { title: "hold", value: (figure) => count(figure, "holds"), text: (figure) => String(count(figure, "holds")) },
    { title: "do not hold", value: (figure) => count(figure, "does not hold"), text: (figure) => String(count(figure, "does not hold")) },
    { title: "not supported", tip: "not supported here: this machine, or these trials, can't decide it", value: (figure) => count(figure, "not supported here"), text: (figure) => String(count(figure, "not supported here")) },
    { title: "not judged", value: (figure) => count(figure, null), text: (figure) => String(count(figure, null)) },
    { title: "of claims", value: (figure) => figure.claims.length, text: (figure) => String(figure.claims.length) },
    { title: "marked cells", value: (figure) => (figure.cells ? figure.cells.marked : null), text: (figure) => (figure.cells ? `${figure.cells.marked} of ${figure.cells.all}` : "-") },
    { title: "left out", tip: "cells that failed, or lost jobs, and are in no claim", value: (figure) => (figure.cells ? leftOut(figure.cells) : null),
      text: (figure) => (figure.cells ? String(leftOut(figure.cells)) : "-") },
    { title: "minutes", value: (figure) => took(figure, "seconds"), text: (figure) => minutes(took(figure, "seconds")) },
    { title: "MB", value: (figure) => took(figure, "bytes"), text: (figure) => megabytes(took(figure, "bytes")) },
    { title: "cores", value: (figure) => figure.plan.cores, text: (figure) => String(figure.plan.cores) }], data.figures);
}

const commitText = (took) => `${took.commit.replace(/-dirty$/, "").slice(0, 12)}${took.commit.endsWith("-dirty") ? " with changes that are in no commit" : ""}`;

// What forbids to take the cells of a figure like any others.
function doubtsOf({ cells }) {
  if (!cells) return [];
  const texts = [cells.marked > 0 && `${cells.marked} of ${plural(cells.all, "cell")} ${cells.marked === 1 ? "is" : "are"} marked. In ${cells.marks.map(({ mark, cells: count }) => `${count}: ${mark}`).join("; in ")}.`,
                 cells.failed.length > 0 && `FAILED, and in no claim: ${named(cells.failed)}.`, cells.lost.length > 0 && `LEFT OUT of every claim: ${named(cells.lost)}.`];
  return texts.filter(Boolean).map((text) => el("div", { class: "doubt" }, el("p", {}, text)));
}

const MOST_NAMED = 6;
const named = (texts) => texts.slice(0, MOST_NAMED).join("; ") + (texts.length > MOST_NAMED ? `; and ${texts.length - MOST_NAMED} more` : "");

function section(figure) {
  const { took } = figure;
  const parts = [el("h2", { id: idOf(figure) }, nameOf(figure)), el("p", {}, figure.title), el("p", { class: "soft" }, figure.source)];
  if (figure.why) parts.push(el("div", { class: "doubt" }, el("p", {}, `${figure.status}: ${figure.why}`)));
  for (const lack of figure.lacks) parts.push(el("div", { class: "doubt" }, el("p", {}, lack)));
  parts.push(...doubtsOf(figure));
  if (figure.picture) parts.push(el("div", { class: "scroll" }, el("img", { src: figure.picture, alt: `${nameOf(figure)}: ${figure.title}` })));
  parts.push(claimsTable(figure.claims));
  if (figure.notes.length > 0) parts.push(el("details", {}, el("summary", {}, "Notes of its script"), el("pre", {}, figure.notes.join("\n").replace(/^\n+/, ""))));
  parts.push(el("pre", {}, figure.command));
  if (took) {
    parts.push(facts([["took", `${minutes(took.seconds)} minutes, ${megabytes(took.bytes)} MB, ${took.started} to ${took.finished}`],
                      ["machine", `${took.cpu}, ${took.cores} cores`], ["commit", commitText(took)]]),
               el("p", { class: "screen" }, "Records: ", el("a", { href: encodeURI(took.link) }, took.run), "."));
  }
  return parts;
}

function page() {
  const { machine, build } = data;
  report.append(el("h1", {}, document.title), el("p", { class: "soft" }, `made by: ${data.command}`), answer());
  report.append(el("nav", { "aria-label": "Parts of this page" }, el("a", { href: "#figures" }, "Figures"), el("a", { href: "#claims" }, "All claims"), el("a", { href: "#machine" }, "Machine")));
  report.append(el("h2", { id: "figures" }, "Figures"), figuresTable());
  const rows = data.figures.flatMap((figure) => figure.claims.map((claim) => ({ ...claim, figure })));
  report.append(el("h2", { id: "claims" }, "All claims"), claimsTable(rows, [{ title: "figure", kind: "text", value: (row) => nameOf(row.figure), text: (row) => linkTo(row.figure) }]));
  report.append(...data.figures.flatMap((figure) => orWhyNot(() => section(figure))));
  report.append(el("h2", { id: "machine" }, "Machine"), el("p", { class: "soft" }, "Of the last command; each figure says where and by what it was made."),
    facts([["CPU", machine.cpu], ["cores", String(machine.cores)], ["topology", machine.topology], ["kernel", machine.kernel],
           ["cosched", `${build.version}, commit ${build.git_commit}`], ["compiler", `${build.compiler}, ${build.build_type}`]]));
}

page();
// Notes are closed until somebody opens them, or prints the page.
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((details) => { details.open = true; }));
