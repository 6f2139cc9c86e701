// All published figures: what holds, what each took, its picture and its claims.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const minutes = (seconds) => (seconds === null || seconds === undefined ? "-" : (seconds / 60).toFixed(1));
const megabytes = (bytes) => (bytes === null || bytes === undefined ? "-" : rounded(bytes / 1e6, 2));
const idOf = (figure) => `${figure.name}${figure.quick ? "-quick" : ""}`;
const nameOf = (figure) => `${figure.name}${figure.quick ? " (quick)" : ""}`;
const linkTo = (figure) => el("a", { href: `#${idOf(figure)}` }, nameOf(figure));
const count = (figure, verdict) => figure.claims.filter((claim) => claim.verdict === verdict).length;

function answer() {
  const { all, hold, direction_only, do_not_hold } = data.claims;
  const claims = (verdict) => data.figures.reduce((sum, figure) => sum + count(figure, verdict), 0);
  const unjudged = claims(null);
  const whole = data.figures.filter((figure) => figure.status === "whole").length;
  const others = ["failed", "interrupted", "planned", "not supported here"].map((status) => [status, data.figures.filter((figure) => figure.status === status).length])
    .filter(([, figures]) => figures > 0).map(([status, figures]) => `${figures} ${status === "planned" ? "not run yet" : status}`);
  const quick = data.figures.some((figure) => figure.quick);
  return el("div", { class: "answer" },
    el("p", {}, el("b", {}, `Of ${all} claims ${hold} hold`), ` (${direction_only} of them checked for direction only), `, el("b", {}, `${do_not_hold} do not hold`),
       `, ${claims("not supported here")} are not supported here${unjudged > 0 ? `, ${unjudged} are not judged yet` : ""}.`),
    el("p", {}, `${whole} of ${data.figures.length} figures are whole${others.length ? `; ${others.join(", ")}` : ""}.`),
    quick ? el("p", {}, "Figures marked (quick) had few trials and short jobs: they show that all works, and decide little.") : null);
}

function figuresTable() {
  const took = (figure, member) => (figure.took ? figure.took[member] : null);
  return sortable([
    { title: "figure", kind: "text", value: nameOf, text: linkTo },
    { title: "status", kind: "text long", value: (figure) => (figure.status === "planned" ? "not run yet" : figure.status) + (figure.why ? `: ${figure.why}` : "") },
    { title: "hold", value: (figure) => count(figure, "holds"), text: (figure) => String(count(figure, "holds")) },
    { title: "do not hold", value: (figure) => count(figure, "does not hold"), text: (figure) => String(count(figure, "does not hold")) },
    { title: "not judged", value: (figure) => count(figure, null), text: (figure) => String(count(figure, null)) },
    { title: "of claims", value: (figure) => figure.claims.length, text: (figure) => String(figure.claims.length) },
    { title: "minutes", value: (figure) => took(figure, "seconds"), text: (figure) => minutes(took(figure, "seconds")) },
    { title: "MB", value: (figure) => took(figure, "bytes"), text: (figure) => megabytes(took(figure, "bytes")) },
    { title: "cores", value: (figure) => figure.plan.cores, text: (figure) => String(figure.plan.cores) }], data.figures);
}

const commitText = (took) => `${took.commit.replace(/-dirty$/, "").slice(0, 12)}${took.commit.endsWith("-dirty") ? " with changes that are in no commit" : ""}`;

function section(figure) {
  const { took } = figure;
  const parts = [el("h2", { id: idOf(figure) }, nameOf(figure)), el("p", {}, figure.title), el("p", { class: "soft" }, figure.source)];
  if (figure.why) parts.push(el("div", { class: "doubt" }, el("p", {}, `${figure.status}: ${figure.why}`)));
  for (const lack of figure.lacks) parts.push(el("div", { class: "doubt" }, el("p", {}, lack)));
  if (figure.picture) parts.push(el("div", { class: "scroll" }, el("img", { src: figure.picture, alt: `${nameOf(figure)}: ${figure.title}` })));
  parts.push(claimsTable(figure.claims), el("pre", {}, figure.command));
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
