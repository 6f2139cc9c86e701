// The page: question and answer, doubts, tables, pictures, any cell, claims, environment, how to repeat it.

const data = JSON.parse(document.getElementById("data").textContent);
const report = document.getElementById("report");
const whole = (count) => (count === null || count === undefined ? "-" : rounded(count, Math.max(3, String(Math.round(count)).length)).replace(/\.0+$/, ""));
// Minor ones are not printed: a page of paper is too narrow.
const SHOWN_MEDIANS = [["makespan_s", "makespan s"], ["mean_turnaround_s", "mean turnaround s"], ["p95_turnaround_s", "p95 s"], ["max_wait_s", "max wait s"],
                       ["core_utilization", "used", percent], ["oversubscription", "oversub", percent],
                       ["throughput_jobs_per_hour", "jobs/h", undefined, "minor"], ["images_per_s", "images/s", undefined, "minor"], ["resizes", "resizes", whole, "minor"],
                       ["lost", "lost", whole]];
// Of jobs: 0 where nothing but services ran, and say nothing there.
const OF_JOBS = new Set(["makespan_s", "mean_turnaround_s", "p95_turnaround_s", "max_wait_s", "throughput_jobs_per_hour", "images_per_s"]);
// In place of those: what answers were paid with.
const OF_RESOURCES = [["granted_core_s", "granted core-s"], ["used_core_s", "used core-s"], ["device_busy_s", "device slot-s"]];
const SHOWN_OF_SERVICES = [["requests", "requests"], ["dropped", "dropped", whole], ["p50_latency_ms", "p50 ms"], ["p99_latency_ms", "p99 ms"], ["throughput_per_s", "served/s"],
                           ["slo_attainment", "in SLO", percent], ["goodput_per_s", "goodput/s"], ["violated", "windows above", whole], ["windows", "of windows", whole]];

// The columns that a section's tables have, by whether it is about jobs.
function shownColumns(section) {
  if (section.comparison.sides.some(asksJobs)) return SHOWN_MEDIANS;
  return [...OF_RESOURCES, ...SHOWN_MEDIANS.filter(([name]) => !OF_JOBS.has(name))];
}

const sideName = (section, index) => (section.comparison.sides.length > 1 ? String.fromCharCode(65 + index) : "");
const treatmentsOf = (section) => section.comparison.sides.flatMap((of, index) => of.treatments.map((treatment) => ({ of, side: sideName(section, index), ...treatment })));

function medianColumns(shown, medians, rows) {
  return shown.filter(([name]) => rows.some((row) => medians(row)[name])).map(([name, title, text, kind]) => ({
    title, kind, tip: `${name}: order by its median`, value: (row) => (medians(row)[name] ? medians(row)[name].median : null),
    text: (row) => (medians(row)[name] && text ? text(medians(row)[name].median) : medianText(medians(row)[name])),
  }));
}

// What the brackets behind medians are.
function bracketsText(sections) {
  const medians = sections.flatMap((section) => section.comparison.sides.flatMap((side) => side.treatments.flatMap((one) => Object.values(one.medians))));
  const levels = [...new Set(medians.filter((median) => median && median.level !== undefined).map(({ level, values }) => `${levelText(level)} (${values} trials)`))];
  return levels.length === 0 ? "" : `[…]: the interval of a median over trials, at ${levels.slice(0, 3).join(", ")}${levels.length > 3 ? " and others" : ""}.`;
}

function mediansTable(section) {
  const medians = (row) => (asksJobs(row.of) ? row.medians : Object.fromEntries(Object.entries(row.medians).filter(([name]) => !OF_JOBS.has(name))));
  const makespan = (row) => (medians(row).makespan_s ? row.medians.makespan_s.median : Infinity);
  const rows = treatmentsOf(section).sort((a, b) => (makespan(a) === makespan(b) ? 0 : makespan(a) - makespan(b)));
  const marked = (row) => markedOf(section, row.of, row)[0];
  const names = [{ title: "policy", kind: "text", value: (row) => `${row.side} ${row.policy}`.trim() }, { title: "tenants", kind: "text", value: (row) => row.elasticity },
                 { title: "trials", value: (row) => row.cells, text: (row) => String(row.cells) }];
  if (rows.some(marked)) names.push({ title: rows.some((row) => leavesOutMarked(row.of)) ? "marked, left out" : "marked", value: marked, text: (row) => String(marked(row)) });
  const parts = [sortable([...names, ...medianColumns(shownColumns(section), medians, rows)], rows, bracketsText([section]))];
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
                   text: (row) => (of(row) ? medianText({ median: of(row).ratio, low: of(row).low, high: of(row).high }, ratioDigits(of(row).ratio, of(row).low, of(row).high)) : `not compared: ${row.why_not || ""}`) },
                 { title: "p", value: (row) => (of(row) && of(row).tested ? of(row).corrected_p : null), text: (row) => (of(row) && of(row).tested ? rounded(of(row).corrected_p, 2) : "-") },
                 { title: "told apart", kind: "text", value: (row) => (!of(row) ? "-" : of(row).decided ? "yes" : isEqual(of(row)) ? "the same" : "no") });
  }
  return sortable(columns, rows);
}

function cellsTable(section) {
  const rows = section.runs.flatMap((place) => data.runs[place].cells.map((cell) => ({ run: data.runs[place], cell })));
  const ofServices = [...new Map(section.comparison.sides.flatMap(serviceMetrics).map((metric) => [`${metric.service}: ${metric.title}`, metric])).entries()]
    .filter(([, metric]) => rows.some((row) => valueOf(row.run, row.cell, metric) !== null));
  const columns = [{ title: "policy", kind: "text", value: (row) => row.cell.policy }, { title: "tenants", kind: "text", value: (row) => row.cell.elasticity },
                   { title: "trial", value: (row) => row.cell.trial, text: (row) => String(row.cell.trial) },
                   ...shownColumns(section).map(([column, title, text, kind]) => {
                     const value = (row) => valueOf(row.run, row.cell, { column });
                     return { title, kind, value, text: text && ((row) => text(value(row))) };
                   }),
                   ...ofServices.map(([title, metric]) => ({ title, value: (row) => valueOf(row.run, row.cell, metric) })),
                   { title: "status", kind: "text", value: (row) => row.cell.status + (row.cell.reason ? `: ${row.cell.reason}` : "") },
                   { title: "marks", kind: "text long", value: (row) => row.cell.marks.join("; ") }];
  if (section.runs.length > 1) columns.unshift({ title: "run", kind: "text", value: (row) => row.run.path });
  return sortable(columns, rows);
}

// What was compared, in numbers: the verdicts and the rows that they are of.
function differences(section) {
  const ofQuestions = questionsOf(section).flatMap((asked) => {
    const { rows, of } = asked.question;
    return [...verdicts(asked), ...(rows.length > 0 ? [effectsTable(rows, of === "policies" ? "policy" : "under")] : [])];
  });
  const ofSides = betweensOf(section).flatMap((between) => [el("p", {}, `${between.side} against ${between.against}`), effectsTable(between.rows, "policy/tenants")]);
  return [...ofQuestions, ...ofSides];
}

function pictures(section) {
  const parts = [];
  const add = (title, shape) => shape && parts.push(el("h3", {}, title), el("div", { class: "scroll" }, shape));
  add("Makespan of every trial", dots(section, { column: "makespan_s" }, "makespan in s"));
  add("Mean turnaround of every trial", dots(section, { column: "mean_turnaround_s" }, "mean turnaround in s"));
  const ofServices = new Map(section.comparison.sides.flatMap(serviceMetrics).map((metric) => [`${metric.title}, ${metric.service}`, metric]));
  for (const [title, metric] of ofServices) add(`${title}: every trial`, dots(section, metric, title));
  for (const { question, where } of questionsOf(section)) {
    const of = where + (question.of === "policies" ? `${question.elasticity}: makespan against ${question.base}` : `malleable against ${question.base}: makespan`);
    add(of, ratios(question.rows, "makespan_s", `${of}, ratio (below 1 = shorter; filled = told apart)`));
  }
  for (const between of betweensOf(section))
    add(`${between.side} against ${between.against}`, ratios(between.rows, "makespan_s", `makespan, ${between.side} / ${between.against} (below 1 = ${between.side} is shorter; filled = told apart)`));
  parts.push(el("p", { class: "soft" }, "Bars are intervals of the medians; a cross is a marked trial. The pointer, or the Tab key, tells each value."));
  return parts;
}

// The place of the cell that is shown first: one of the best treatment, or else one that is done.
function firstShown(section, cells) {
  const side = section.comparison.sides[0];
  const bestOf = (elasticity) => (asksJobs(side) ? best(side, elasticity, "makespan_s")
    : serviceMetrics(side).map((metric) => bestOfService(section, side, elasticity, metric)).find(Boolean));
  const winners = elasticitiesOf(side).map((elasticity) => ({ elasticity, found: bestOf(elasticity) })).filter(({ found }) => found);
  if (asksJobs(side)) winners.sort((a, b) => a.found.median.median - b.found.median.median);
  const isDone = ({ cell }) => cell.status === "done";
  const isBest = ({ cell }) => winners.length > 0 && cell.policy === winners[0].found.policy && cell.elasticity === winners[0].elasticity;
  const places = [cells.findIndex((one) => isDone(one) && isBest(one)), cells.findIndex(isDone), 0];
  return places.find((place) => place >= 0);
}

function cellChooser(section) {
  const cells = section.runs.flatMap((place) => data.runs[place].cells.map((cell) => ({ run: data.runs[place], cell })));
  if (cells.length === 0) return [el("p", {}, "No cell is whole.")];
  const view = el("div");
  const nameOf = ({ run, cell }) => `${section.runs.length > 1 ? `${run.path}: ` : ""}${cell.policy}, ${cell.elasticity}, trial ${cell.trial}` +
    `${cell.status === "done" ? "" : " (failed)"}${cell.marks.length ? " (marked)" : ""}${cell.data ? "" : " (not in this file)"}`;
  const choice = el("select", {}, cells.map((one, index) => el("option", { value: index }, nameOf(one))));
  choice.value = firstShown(section, cells);
  const show = () => view.replaceChildren(...orWhyNot(() => cellView(cells[choice.value].run, cells[choice.value].cell)));
  choice.addEventListener("change", show);
  show();
  const failed = cells.filter(({ cell }) => cell.status !== "done").length;
  const why = failed > 0 ? el("p", { class: "soft" }, `${failed} of them failed: ${failed === 1 ? "it is" : "they are"} in no figure, and can be chosen here for why, and for ${failed === 1 ? "its" : "their"} records.`) : null;
  return [leftOut(cells.map(({ cell }) => cell)), why, el("p", { class: "screen" }, el("label", {}, "Cell: ", choice)), view];
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

// Of every run that has some, each under its name where there are several; the points of a sweep have theirs together.
function claims() {
  const found = new Map(), names = new Set();
  for (const section of data.sections) {
    for (const run of section.runs.map((place) => data.runs[place])) {
      const name = section.title ? run.path.slice(0, -section.title.length - 1) : run.path;
      names.add(name);
      for (const file of [run.claims].flat().filter(Boolean)) found.set(`${name}${file.figure ? `: ${file.figure}` : ""}`, file.claims);
    }
  }
  const named = found.size > 1 || names.size > 1;
  return [...found.entries()].flatMap(([name, rows]) => [named ? el("h3", {}, name) : null, claimsTable(rows)]);
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

// From the clone's folder; one figure of several that a command made is made by its own name alone.
function ownCommand(run) {
  const line = (run.command_line || "").replace(/^\S*\bcosched /, "build/cosched ");
  const found = /^(.* reproduce) (.*)$/.exec(line), name = (run.experiment && run.experiment.name) || "";
  if (!found || !name.startsWith("fig_")) return line;
  const options = ` ${found[2]}`.split(" --").slice(1).filter((option) => option !== "resume");
  return [`${found[1]} ${name.slice("fig_".length)}`, ...options].join(" --");
}

// What of a repetition is to be the same.
function sameness(run) {
  const experiment = run.experiment || {};
  if (experiment.backend !== "simulated") return "Times of another run on this machine differ as those of trials do; those of another machine do not compare.";
  const profile = `With the same profile${experiment.profile ? ` (${experiment.profile.file}, fnv1a ${experiment.profile.fnv1a})` : ""}, which this page does not hold, `;
  return (experiment.simulation && experiment.simulation.charge_decisions) === "measured"
    ? `${profile}times differ by what decisions take, which is measured anew.` : `${profile}every row is the same on any machine.`;
}

// The sweep of whose points the run is the first that is told of: { path, link, keys }; null if it is none.
function sweepOfRun(run) {
  const first = data.sections.find((section) => section.title && data.runs[section.runs[0]] === run);
  if (!first) return null;
  const points = sweepsOf(data.sections).find((among) => among.includes(first)) || [first];
  const keys = [...new Set(points.flatMap((point) => Object.keys(point.values)))];
  const cut = (path) => path.slice(0, -first.title.length - 1) || ".";
  return { path: cut(run.path), link: cut(run.link), title: first.title, keys: keys.map((key) => `${key} = ${inOrder(points.flatMap((point) => point.values[key] ?? [])).join(", ")}`) };
}

function minutesText(run) {
  const seconds = (Date.parse(run.finished) - Date.parse(run.started)) / 1e3;
  return Number.isFinite(seconds) ? ` It took ${seconds < 2 ? "a second or less" : seconds < 90 ? `${seconds} seconds` : `${Math.round(seconds / 60)} minutes`}.` : "";
}

function repeat(run) {
  const experiment = run.experiment || {}, build = run.build || {}, sweep = sweepOfRun(run), place = sweep || run;
  const commit = (build.git_commit || "").replace(/-dirty$/, "");
  const lines = [commit && `git checkout ${commit}`, ownCommand(run)].filter(Boolean).join("\n");
  return [isDirty(run) ? el("div", { class: "doubt" }, el("p", {}, "This can't be repeated exactly: the source tree had changes that are in no commit.")) : null,
          el("p", {}, "In a clone of cosched, built as its README says, with the paths of your machine:"), el("pre", {}, lines),
          el("p", {}, sameness(run), minutesText(run)),
          sweep ? el("p", {}, `All points of the sweep are made by it: ${sweep.keys.join("; ")}.`) : null,
          el("p", {}, `Seed ${experiment.seed}, ${typeof experiment.trials === "number" ? `${experiment.trials} trials` : `trials ${experiment.trials}`}; experiment file ${run.experiment_file || "unknown"} (all of its keys are below); records in `, el("a", { href: encodeURI(place.link) }, place.path), "."),
          el("details", {}, el("summary", {}, `Every key of the experiment, with its value${sweep ? ` at ${sweep.title}` : ""}`), el("pre", {}, JSON.stringify(experiment, null, 2)))];
}

// The parts of a section: id, text of the link to it, title, and what makes it.
const PARTS = [["answer", "Answer", "Question and answer", answer], ["gates", "Gates", "Gates", gatesOf], ["doubts", "Doubts", "Doubts and marks", doubts],
               ["tables", "Medians", "Medians", mediansTable], ["effects", "Differences", "Differences", differences], ["pictures", "Pictures", "Pictures", pictures],
               ["cell", "Any cell", "Any cell over time", cellChooser],
               ["cells", "All cells", "All cells", (section) => [el("details", {}, el("summary", {}, "Every cell with its metrics"), cellsTable(section))]]];

// Runs that are told of once, though many points of a sweep are of one.
function uniqueRuns() {
  const found = new Map();
  for (const run of data.runs) {
    const key = JSON.stringify([run.command_line, run.started]);
    if (!found.has(key)) found.set(key, run);
  }
  return [...found.values()];
}

function environments() {
  const runs = uniqueRuns();
  return runs.flatMap((run) => [runs.length > 1 ? el("h3", {}, run.path) : null, environment(run)]);
}

const repeats = () => uniqueRuns().flatMap(repeat);

const MOST_LINKED = 12;  // Points; the table of all has links, too.

// Parts one after the other, each under its heading and with a link to it; what has no content is left out.
function reportParts() {
  const links = [], content = [];
  const add = (id, link, title, make, head = "h2", among = content) => {
    const made = orWhyNot(make).filter(Boolean);
    if (made.length === 0) return;
    if (link) links.push([id, link]);
    among.push(el(head, { id }, title), ...made);
  };
  const several = data.sections.length > 1, sweeps = sweepsOf(data.sections), swept = new Set(sweeps.flat());
  sweeps.forEach((points, index) => {
    add(`sweep${index || ""}`, index ? "" : "Answer", "Over the points of the sweep", () => pointsAnswer(points));
    add(`over${index || ""}`, index ? "" : "Pictures of all points", "Pictures over the points", () => overPoints(points));
  });
  add("claims", "Claims", "Claims", claims);
  data.sections.forEach((section, index) => {
    const id = `section${index || ""}`, parts = [];
    for (const [part, link, title, make] of PARTS) add(`${part}${index || ""}`, several ? "" : link, title, () => make(section), several ? "h3" : "h2", parts);
    if (several && (!swept.has(section) || swept.size <= MOST_LINKED)) links.push([id, section.title || "together"]);
    if (swept.has(section)) content.push(el("details", { class: "point", id }, el("summary", {}, section.title), ...parts));
    else content.push(several ? el("h2", { id }, section.title || "The runs together") : null, ...parts);
  });
  add("words", "Words and method", "Words and method", words);
  add("environment", "Environment", "Environment", environments);
  add("repeat", "How to repeat it", "How to repeat it", repeats);
  return { links, content };
}

function page() {
  const first = data.runs[0];
  const name = (first.experiment && first.experiment.name) || first.path;
  report.append(el("h1", {}, document.title), el("p", { class: "soft" }, `${data.runs.length} ${data.sections.every((section) => section.title) ? "point" : "run"}${data.runs.length === 1 ? "" : "s"} of ${name}, made by: ${data.command}`));
  const { links, content } = reportParts();
  report.append(el("nav", { "aria-label": "Parts of this report" }, ...links.map(([id, text]) => el("a", { href: `#${id}` }, text))));
  report.append(...content.filter(Boolean));
  listenForTips();
  openWhereTheLinkLeads();
}

// A point of a sweep is closed until somebody goes there, or prints the page.
function openWhereTheLinkLeads() {
  const open = () => {
    const target = document.getElementById(location.hash.slice(1)), point = target && target.closest("details.point");
    if (!point || point.open) return;
    point.open = true;
    target.scrollIntoView();
  };
  addEventListener("hashchange", open);
  addEventListener("beforeprint", () => document.querySelectorAll("details.point").forEach((point) => { point.open = true; }));
  open();
}

page();
