// The page: question and answer, doubts, tables, pictures, any cell, claims, environment, how to repeat it.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const whole = (count) => (count === null || count === undefined ? "-" : rounded(count, Math.max(3, String(Math.round(count)).length)).replace(/\.0+$/, ""));
// Minor ones are not printed: a page of paper is too narrow.
const SHOWN_MEDIANS = [["makespan_s", "makespan s"], ["mean_turnaround_s", "turnaround s"], ["p95_turnaround_s", "p95 s"], ["max_wait_s", "max wait s"],
                       ["core_utilization", "used", percent], ["oversubscription", "oversub", percent],
                       ["throughput_jobs_per_hour", "jobs/h", undefined, "minor"], ["images_per_s", "images/s", undefined, "minor"], ["resizes", "resizes", whole, "minor"],
                       ["lost", "lost", whole, "minor"]];
const SHOWN_OF_SERVICES = [["requests", "requests"], ["p50_latency_ms", "p50 ms"], ["p99_latency_ms", "p99 ms"], ["throughput_per_s", "served/s"],
                           ["slo_attainment", "in SLO", percent], ["goodput_per_s", "goodput/s"]];

const sideName = (section, index) => (section.comparison.sides.length > 1 ? String.fromCharCode(65 + index) : "");
const treatmentsOf = (section) => section.comparison.sides.flatMap((side, index) => side.treatments.map((treatment) => ({ side: sideName(section, index), ...treatment })));

function medianColumns(shown, medians, rows) {
  return shown.filter(([name]) => rows.some((row) => medians(row)[name])).map(([name, title, text, kind]) => ({
    title, kind, tip: `${name}: order by its median`, value: (row) => (medians(row)[name] ? medians(row)[name].median : null),
    text: (row) => (medians(row)[name] && text ? text(medians(row)[name].median) : medianText(medians(row)[name])),
  }));
}

function mediansTable(section) {
  const makespan = (row) => (row.medians.makespan_s ? row.medians.makespan_s.median : Infinity);
  const rows = treatmentsOf(section).sort((a, b) => makespan(a) - makespan(b));
  const marked = (row) => markedOf(section, row.policy, row.elasticity)[0];
  const names = [{ title: "policy", kind: "text", value: (row) => `${row.side} ${row.policy}`.trim() }, { title: "tenants", kind: "text", value: (row) => row.elasticity },
                 { title: "trials", value: (row) => row.cells, text: (row) => String(row.cells) }];
  if (rows.some(marked)) names.push({ title: "marked", value: marked, text: (row) => String(marked(row)) });
  const parts = [sortable([...names, ...medianColumns(SHOWN_MEDIANS, (row) => row.medians, rows)], rows)];
  const services = rows.flatMap((row) => row.services.map((service) => ({ ...row, service })));
  if (services.length > 0) {
    parts.push(el("h3", {}, "Services"), sortable([{ title: "service", kind: "text", value: (row) => row.service.service }, ...names,
      ...medianColumns(SHOWN_OF_SERVICES, (row) => row.service.medians, services)], services));
  }
  return parts;
}

function effectsTable(rows, first) {
  const metrics = Object.keys(METRICS).filter((metric) => rows.some((row) => row.effects[metric]));
  const columns = [{ title: first, kind: "text", value: (row) => row.name }];
  for (const metric of metrics) {
    const of = (row) => row.effects[metric];
    columns.push({ title: `${METRICS[metric]}, ratio`, value: (row) => (of(row) ? of(row).ratio : null),
                   text: (row) => (of(row) ? medianText({ median: of(row).ratio, low: of(row).low, high: of(row).high }) : `not compared: ${row.why_not || ""}`) },
                 { title: "p", value: (row) => (of(row) && of(row).tested ? of(row).corrected_p : null), text: (row) => (of(row) && of(row).tested ? rounded(of(row).corrected_p, 2) : "-") },
                 { title: "told apart", kind: "text", value: (row) => (of(row) && of(row).decided ? "yes" : "no") });
  }
  return sortable(columns, rows);
}

function cellsTable(section) {
  const rows = section.runs.flatMap((place) => data.runs[place].cells.map((cell) => ({ run: data.runs[place], cell })));
  const of = (row, name) => row.cell.values[row.run.columns.indexOf(name)];
  const columns = [{ title: "policy", kind: "text", value: (row) => row.cell.policy }, { title: "tenants", kind: "text", value: (row) => row.cell.elasticity },
                   { title: "trial", value: (row) => row.cell.trial, text: (row) => String(row.cell.trial) },
                   ...SHOWN_MEDIANS.map(([name, title, text, kind]) => ({ title, kind, value: (row) => of(row, name), text: text && ((row) => text(of(row, name))) })),
                   { title: "status", kind: "text", value: (row) => row.cell.status + (row.cell.reason ? `: ${row.cell.reason}` : "") },
                   { title: "marks", kind: "text long", value: (row) => row.cell.marks.join("; ") }];
  if (section.runs.length > 1) columns.unshift({ title: "run", kind: "text", value: (row) => row.run.path });
  return sortable(columns, rows);
}

function pictures(section) {
  const parts = [];
  const add = (title, shape) => shape && parts.push(el("h3", {}, title), el("div", { class: "scroll" }, shape));
  add("Makespan of every trial", dots(section, data.runs, "makespan_s", "makespan in s"));
  add("Mean turnaround of every trial", dots(section, data.runs, "mean_turnaround_s", "mean turnaround in s"));
  for (const { question, where } of questionsOf(section)) {
    const of = where + (question.of === "policies" ? `${question.elasticity}: makespan against ${question.base}` : `malleable against ${question.base}: makespan`);
    add(of, ratios(question.rows, "makespan_s", `${of}, ratio (below 1 = shorter; filled = told apart)`));
  }
  for (const between of section.comparison.between)
    add(`${between.side} against ${between.against}`, ratios(between.rows, "makespan_s", `makespan, ${between.side} / ${between.against} (below 1 = ${between.side} is shorter; filled = told apart)`));
  parts.push(el("p", { class: "soft" }, "Bars are intervals of the medians; a cross is a marked trial. The pointer, or the Tab key, tells each value."));
  return parts;
}

function cellChooser(section) {
  const cells = section.runs.flatMap((place) => data.runs[place].cells.map((cell) => ({ run: data.runs[place], cell }))).filter(({ cell }) => cell.status === "done");
  if (cells.length === 0) return [el("p", {}, "No cell is done.")];
  const view = el("div");
  const choice = el("select", {}, ...cells.map(({ run, cell }, index) => el("option", { value: index },
    `${section.runs.length > 1 ? `${run.path}: ` : ""}${cell.policy}, ${cell.elasticity}, trial ${cell.trial}${cell.marks.length ? " (marked)" : ""}${cell.data ? "" : " (not in this file)"}`)));
  const side = section.comparison.sides[0];
  const winners = elasticitiesOf(side).map((elasticity) => ({ elasticity, found: best(side, elasticity, "makespan_s") })).filter(({ found }) => found)
    .sort((a, b) => a.found.median.median - b.found.median.median);
  const first = winners.length === 0 ? -1 : cells.findIndex(({ cell }) => cell.policy === winners[0].found.policy && cell.elasticity === winners[0].elasticity);
  choice.value = Math.max(0, first);
  const show = () => view.replaceChildren(...cellView(cells[choice.value].run, cells[choice.value].cell));
  choice.addEventListener("change", show);
  show();
  return [leftOut(cells.map(({ cell }) => cell)), el("p", { class: "screen" }, el("label", {}, "Cell: ", choice)), view];
}

// Of which cells the file has no jobs; null if it has all.
function leftOut(cells) {
  const lacking = cells.filter((cell) => !cell.data);
  if (lacking.length === 0) return null;
  const trials = [...new Set(lacking.map((cell) => cell.trial))].sort((a, b) => a - b);
  const named = lacking.length <= 12 ? lacking.map((cell) => `${cell.policy}, ${cell.elasticity}, trial ${cell.trial}`).join("; ")
    : `of trials ${trials[0]} to ${trials[trials.length - 1]}`;
  return el("p", { class: "soft" }, `Of ${lacking.length} of ${cells.length} cells the jobs are not in this file, which would be too large: ${named}. Their records have them.`);
}

function claims(section) {
  const file = section.runs.map((place) => data.runs[place].claims).find((found) => found);
  return file ? [claimsTable(file.claims)] : [];
}

function environment(run) {
  const host = run.host || {}, build = run.build || {}, experiment = run.experiment || {};
  const simulated = experiment.backend === "simulated", machine = experiment.machine || {};
  return facts([["simulated machine", simulated && [machine.topology, machine.cores && `cores ${machine.cores}`].filter(Boolean).join(", ")],
                [simulated ? "computed on" : "machine", [host.name, host.cpu, host.topology].filter(Boolean).join(", ")], ["CPUs", host.cpus], ["operating system", host.kernel], ["kernels of layers", host.kernels],
                ["governor", host.governor], ["scheduling", host.scheduling], ["memory", host.memory],
                ["backend", experiment.backend], ["actuator", experiment.machine && experiment.machine.actuator], ["cosched", `${build.version || ""}, commit ${build.git_commit || "unknown"}`],
                ["compiler", [build.compiler, build.build_type, build.sanitizers].filter(Boolean).join(", ")], ["libraries", `oneDNN ${build.onednn}, Eigen ${build.eigen}, hwloc ${build.hwloc}`],
                ["status", run.status], ["started", run.started], ["finished", run.finished]]);
}

function repeat(run) {
  const experiment = run.experiment || {}, build = run.build || {};
  const commit = (build.git_commit || "").replace(/-dirty$/, "");
  const lines = [commit && `git checkout ${commit}`, run.command_line].filter(Boolean).join("\n");
  return [(build.git_commit || "").endsWith("-dirty") ? el("div", { class: "doubt" }, el("p", {}, "This can't be repeated exactly: the source tree had changes that are in no commit.")) : null,
          el("p", {}, "In a clone of cosched, built as its README says, with the paths of your machine:"), el("pre", {}, lines),
          el("p", {}, `Seed ${experiment.seed}, ${typeof experiment.trials === "number" ? `${experiment.trials} trials` : `trials ${experiment.trials}`}; experiment file ${run.experiment_file || "unknown"}; records in `, el("a", { href: encodeURI(run.link) }, run.path), "."),
          el("details", {}, el("summary", {}, "Every key of the experiment, with its value"), el("pre", {}, JSON.stringify(experiment, null, 2)))];
}

function sectionOf(section, index) {
  const swept = data.sections.length > 1;
  const id = (word) => `${word}${index || ""}`;
  const parts = swept ? [el("h2", { id: id("section") }, section.title || "The runs together")] : [];
  const head = swept ? "h3" : "h2";
  const add = (word, title, content) => content.length && parts.push(el(head, { id: id(word) }, title), ...content.filter(Boolean));
  add("answer", "Question and answer", answer(section, data.runs));
  add("gates", "Gates", gatesOf(section));
  add("doubts", "Doubts and marks", doubts(section));
  add("tables", "Medians", mediansTable(section));
  add("effects", "Differences", [...questionsOf(section).flatMap((asked) => [...verdicts(asked),
    ...(asked.question.rows.length > 0 ? [effectsTable(asked.question.rows, asked.question.of === "policies" ? "policy" : "under")] : [])]), ...section.comparison.between.flatMap((between) => [el("p", {}, `${between.side} against ${between.against}`), effectsTable(between.rows, "policy/tenants")])]);
  add("pictures", "Pictures", pictures(section));
  add("cell", "Any cell over time", cellChooser(section));
  add("cells", "All cells", [el("details", {}, el("summary", {}, "Every cell with its metrics"), cellsTable(section))]);
  return parts;
}

function page() {
  const first = data.runs[0];
  const name = (first.experiment && first.experiment.name) || first.path;
  report.append(el("h1", {}, document.title), el("p", { class: "soft" }, `${data.runs.length} run${data.runs.length === 1 ? "" : "s"} of ${name}, made by: ${data.command}`));
  const sections = data.sections.map(sectionOf);
  const links = data.sections.length > 1 ? data.sections.map((section, index) => [`section${index || ""}`, section.title || "together"])
    : [["answer", "Answer"], ["doubts", "Doubts"], ["tables", "Medians"], ["effects", "Differences"], ["pictures", "Pictures"], ["cell", "Any cell"], ["cells", "All cells"]];
  const judged = data.sections.map(claims).find((content) => content.length > 0);
  const swept = sweepsOf(data.sections);
  if (swept.length > 0) links.unshift(["sweep", "Over all points"]);
  if (judged) links.unshift(["claims", "Claims"]);
  if (data.sections.length === 1 && gatesOf(data.sections[0]).length > 0) links.splice(links.findIndex(([id]) => id === "doubts"), 0, ["gates", "Gates"]);
  report.append(el("nav", { "aria-label": "Parts of this report" }, ...[...links, ["words", "Words and method"], ["environment", "Environment"], ["repeat", "How to repeat it"]].map(([id, text]) => el("a", { href: `#${id}` }, text))));
  if (judged) report.append(el("h2", { id: "claims" }, "Claims"), ...judged);
  report.append(...swept.flatMap((points, index) => [el("h2", { id: `sweep${index || ""}` }, "Over the points of the sweep"), ...overPoints(points)]), ...sections.flat());
  const unique = data.runs.filter((run, index) => data.runs.findIndex((other) => other.command_line === run.command_line && other.started === run.started) === index);
  report.append(el("h2", { id: "words" }, "Words and method"), ...words());
  report.append(el("h2", { id: "environment" }, "Environment"), ...unique.flatMap((run) => [unique.length > 1 ? el("h3", {}, run.path) : null, environment(run)].filter(Boolean)));
  report.append(el("h2", { id: "repeat" }, "How to repeat it"), ...unique.flatMap(repeat).filter(Boolean));
  listenForTips();
}

page();
