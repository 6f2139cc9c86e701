// The question, and what the comparison answers: in sentences, the certain first.

const METRICS = { makespan_s: "makespan", mean_turnaround_s: "mean turnaround" };  // Of jobs; `compare` tests these and no others.
// Of each service, as in the service tables of `compare`; the first two only where there is an objective.
const OF_SERVICES = [
  { column: "violated", name: "windows above its objective", title: "windows above the objective", best: "has the fewest windows above its objective", more: false },
  { column: "slo_attainment", name: "requests in SLO", title: "share of requests in SLO", best: "answers most requests within their SLO", more: true, factor: 100, unit: " %" },
  { column: "p99_latency_ms", name: "p99 latency", title: "p99 latency in ms", best: "has the lowest p99 latency", more: false, unit: " ms" },
];
const MOST_SERVICES = 4;  // That sentences and pictures go through; tables have all.
const MARKED_LEFT_OUT = /^\d+ marked cells? left out/;
const DECIDES = .95;  // The level below which an interval sets nothing apart.
const APART = "policies are apart where the intervals of their medians, of 95 % or more, do not overlap";

const elasticitiesOf = (side) => [...new Set(side.treatments.map((t) => t.elasticity))];
const servicesOf = (side) => [...new Set(side.treatments.flatMap((t) => t.services.map((one) => one.service)))].sort();
const lossless = (treatment) => treatment.failed_cells === 0 && treatment.lossy_cells === 0 && treatment.cells > 0;

// The median of a metric, { column } or { column, service }, with its interval; null where there is none.
function medianOf(treatment, { column, service }) {
  const medians = service === undefined ? treatment.medians : (treatment.services.find((one) => one.service === service) || { medians: {} }).medians;
  return medians[column] || null;
}

// Whether a side is about jobs. Where nothing but services ran, times of jobs are 0 and say nothing.
function asksJobs(side) {
  const finished = (treatment) => (treatment.medians.throughput_jobs_per_hour || { median: 0 }).median > 0;
  return servicesOf(side).length === 0 || side.treatments.some(finished);
}

// What is asked of services: { column, service, … } of those that the side has.
function serviceMetrics(side) {
  return servicesOf(side).slice(0, MOST_SERVICES).flatMap((service) => OF_SERVICES.map((metric) => ({ ...metric, service })))
    .filter((metric) => side.treatments.some((treatment) => medianOf(treatment, metric)));
}

// The runs of a side: a copy of another one is of none.
const runsOf = (section, side) => side.runs.map((path) => section.runs.map((place) => data.runs[place]).find((run) => run.path === path)).filter(Boolean);
// The cells of a treatment of a side, each with its run.
const cellsOf = (section, side, { policy, elasticity }) => runsOf(section, side).flatMap((run) =>
  run.cells.filter((cell) => cell.policy === policy && cell.elasticity === elasticity).map((cell) => ({ run, cell })));

// Cells that were marked, and all, of one treatment of a side.
function markedOf(section, side, treatment) {
  const cells = cellsOf(section, side, treatment);
  return [cells.filter(({ cell }) => cell.marks.length > 0).length, cells.length];
}

// Whether --exclude-marked was given, and had something to leave out.
const leavesOutMarked = (side) => side.notes.some((note) => MARKED_LEFT_OUT.test(note));

// What the trials in pairs say of a policy against another; null where nothing compared them. `own`: the ratio is the policy's to the
// other's, and not the other way round. `favours`: it says that the policy is the shorter.
function effectAgainst(side, elasticity, metric, policy, other) {
  const question = side.questions.find((q) => q.of === "policies" && q.elasticity === elasticity);
  if (!question) return null;
  const pairs = [...question.rows.map((row) => ({ ...row, against: question.base })), ...question.others];
  const row = pairs.find(({ name, against }) => (name === policy && against === other) || (name === other && against === policy));
  const effect = row ? row.effects[metric] : null;
  if (!effect) return null;
  const own = row.name === policy;
  return { ...effect, own, favours: own ? effect.ratio < 1 : effect.ratio > 1 };
}

const isEqual = (effect) => effect !== null && effect !== undefined && !effect.tested && effect.ratio === 1;

// Whether two policies are equal in every trial, as the trials say of the two or of each and the base.
function isSameIn(side, elasticity, metric, policy, other) {
  const same = (a, b) => a === b || isEqual(effectAgainst(side, elasticity, metric, a, b));
  const question = side.questions.find((q) => q.of === "policies" && q.elasticity === elasticity);
  return same(policy, other) || (question !== undefined && same(policy, question.base) && same(other, question.base));
}

// The policy with the lowest median of those that lost nothing, and what the trials in pairs say of it and each other. `same`: equal in each.
function best(side, elasticity, metric) {
  const treatments = side.treatments.filter((t) => t.elasticity === elasticity && lossless(t) && t.medians[metric]);
  if (treatments.length === 0) return null;
  const first = treatments.reduce((a, b) => (b.medians[metric].median < a.medians[metric].median ? b : a));
  const others = side.treatments.filter((t) => t.elasticity === elasticity && t.policy !== first.policy);
  const found = { policy: first.policy, median: first.medians[metric], told: [], contrary: [], alike: [], same: [], untested: [], alone: others.length === 0 };
  for (const { policy } of others) {
    const effect = effectAgainst(side, elasticity, metric, first.policy, policy);
    const kind = isSameIn(side, elasticity, metric, first.policy, policy) ? found.same : effect === null ? found.untested : !effect.decided ? found.alike : effect.favours ? found.told : found.contrary;
    kind.push({ policy, effect });
  }
  return found;
}

const MOST_NAMED = 6;
const policiesOf = (places) => places.map(({ policy }) => policy).join(", ");
// A long list of all others is no news.
const othersOf = (places, all) => (places.length > MOST_NAMED && places.length === all ? `any of the other ${all}` : policiesOf(places));
// Three digits, or four where three would hide on which side of 1 it is.
const ratioDigits = (...values) => (values.some((value) => value !== undefined && value !== 1 && rounded(value) === "1.00") ? 4 : 3);
function ratioText({ ratio, low, high }) {
  const text = (value) => rounded(value, ratioDigits(ratio, low, high));
  return `${text(ratio)} [${text(low)} ${text(high)}] times as long`;
}
// of: the policy that is set against them.
const sizesText = (places, of) => places.map(({ policy, effect }) => `${policy} (${effect.own ? of : "which"} takes ${ratioText(effect)})`).join(", ");

// Of what best() found: the names that share the place, of how many policies, and whether all others are told apart from them.
function certaintyOf(found) {
  const names = [found.policy, ...found.same.map(({ policy }) => policy)], doubted = [...found.alike, ...found.untested, ...found.contrary];
  return { names, all: names.length + doubted.length + found.told.length, certain: doubted.length === 0, doubted };
}

function bestSentence(side, elasticity, metric) {
  const found = best(side, elasticity, metric);
  const of = elasticitiesOf(side).length > 1 ? `${elasticity}: ` : "";
  if (!found) return el("p", {}, `${of}no policy finished every job of every trial, so none has the best ${METRICS[metric]}.`);
  if (found.alone) return el("p", {}, of, el("b", {}, found.policy), ` alone; its ${METRICS[metric]} is `, medianText(found.median), " s.");
  const { names, all, certain } = certaintyOf(found), rest = all - names.length;
  if (rest === 0) return el("p", {}, of, el("b", {}, `all ${all} policies have the same ${METRICS[metric]}`), " in every trial, ", medianText(found.median), " s.");
  const parts = [of, el("b", {}, names.join(", ")), ` ${names.length > 1 ? "have" : "has"} the shortest ${METRICS[metric]}, `, medianText(found.median),
                 names.length > 1 ? " s, the same in every trial. " : " s. "];
  if (certain) return el("p", {}, ...parts, el("b", {}, "Of these trials that is certain"), `: it is told apart from ${sizesText(found.told, found.policy)}.`);
  parts.push(el("b", {}, "That is not certain"), ": ");
  const reasons = [];
  if (found.contrary.length > 0) reasons.push(`the same trials in pairs say the opposite of ${sizesText(found.contrary, found.policy)}`);
  if (found.alike.length > 0) reasons.push(`it can't be told apart from ${othersOf(found.alike, rest)}`);
  if (found.untested.length > 0) reasons.push(`nothing tested it against ${othersOf(found.untested, rest)}`);
  if (found.told.length > 0) reasons.push(`it is told apart from ${sizesText(found.told, found.policy)}`);
  return el("p", {}, ...parts, reasons.join("; ") + ".");
}

// Malleable tenants against those of another class, under each policy that ran both.
function elasticitySentences(side) {
  const questions = side.questions.filter((question) => question.of === "elasticities" && question.rows.length > 0);
  return questions.flatMap((question) => Object.keys(METRICS).map((metric) => {
    const rows = question.rows.map((row) => ({ policy: row.name, effect: row.effects[metric] }));
    const same = rows.filter(({ effect }) => isEqual(effect)), told = rows.filter(({ effect }) => effect && effect.decided);
    const alike = rows.filter(({ effect }) => effect && !effect.decided && !isEqual(effect));
    const apart = told.map(({ policy, effect }) => `${ratioText(effect)} under ${policy}`).join(", ");
    const without = rows.filter(({ effect }) => !effect);
    const parts = [apart, same.length > 0 && `the same in every trial under ${policiesOf(same)}`, alike.length > 0 && `not told apart under ${policiesOf(alike)}`, without.length > 0 && `not compared under ${policiesOf(without)}`];
    return el("p", {}, el("b", {}, "malleable"), ` against ${question.base}, ${METRICS[metric]}: ${parts.filter(Boolean).join("; ")}.`);
  }));
}

// A metric's median in its unit, of how many where it counts windows.
function measureText(treatment, { column, service, factor = 1, unit = "" }) {
  const median = medianOf(treatment, { column, service }), scaled = (value) => (value === undefined ? undefined : value * factor);
  const windows = column === "violated" ? medianOf(treatment, { column: "windows", service }) : null;
  return [medianText({ median: scaled(median.median), low: scaled(median.low), high: scaled(median.high) }), `${unit}${windows ? ` of ${whole(windows.median)}` : ""}`];
}

// What each trial of a treatment has of a metric, as its median has it: of cells that are done, and not of those that --exclude-marked left out.
function trialsOf(section, side, treatment, metric) {
  const counted = ({ cell }) => cell.status === "done" && !(leavesOutMarked(side) && cell.marks.length > 0);
  return new Map(cellsOf(section, side, treatment).filter(counted).map(({ run, cell }) => [`${run.path} ${cell.trial}`, valueOf(run, cell, metric)]));
}

const isEqualIn = (a, b) => a.size > 0 && a.size === b.size && [...a].every(([trial, value]) => b.get(trial) === value);

// The mean of the trials that have a value: equal medians, as of counts that are mostly 0, hide what the other trials say.
function meanOf(trials) {
  const values = [...trials.values()].filter((value) => value !== null);
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

// The policy with the best median of a service's metric, of those that lost nothing; null where none has it. Equal medians are ordered by the
// means of their trials: `tied` are those that have the first's median and another mean. `same`: equal in each trial. Others are apart where the
// intervals of both medians decide and do not overlap.
function bestOfService(section, side, elasticity, metric) {
  const of = side.treatments.filter((t) => t.elasticity === elasticity).map((treatment) => ({ policy: treatment.policy, treatment, median: medianOf(treatment, metric) }));
  const able = of.filter(({ treatment, median }) => median && lossless(treatment)).map((one) => ({ ...one, trials: trialsOf(section, side, one.treatment, metric) }));
  if (able.length === 0) return null;
  const less = (a, b) => (metric.more ? b - a : a - b);
  const first = able.reduce((a, b) => ((less(b.median.median, a.median.median) || less(meanOf(b.trials), meanOf(a.trials))) < 0 ? b : a));
  const decides = ({ level }) => level !== undefined && level >= DECIDES;
  const isApart = ({ median }) => decides(first.median) && decides(median) && (metric.more ? median.high < first.median.low : median.low > first.median.high);
  const others = able.filter((one) => one !== first), same = others.filter(({ trials }) => isEqualIn(trials, first.trials));
  const rest = others.filter((one) => !same.includes(one)), apart = rest.filter(isApart);
  const tied = rest.filter(({ trials, median }) => median.median === first.median.median && meanOf(trials) !== meanOf(first.trials));
  return { ...first, same, apart, tied, near: rest.filter((one) => !apart.includes(one)), unable: of.filter(({ policy }) => !able.some((one) => one.policy === policy)), alone: of.length === 1 };
}

function serviceSentence(section, side, elasticity, metric) {
  const found = bestOfService(section, side, elasticity, metric);
  const of = `${metric.service}, ${elasticity}: `;
  if (!found) return el("p", {}, `${of}no policy ran every trial without a loss, so none ${metric.best}.`);
  const measure = measureText(found.treatment, metric), policy = el("b", {}, found.policy);
  if (found.alone) return el("p", {}, of, policy, ` alone; ${metric.name}: `, ...measure, ".");
  const parts = [found.tied.length > 0 && `by the mean of its trials, as ${policiesOf(found.tied)} ${found.tied.length === 1 ? "has" : "have"} the same median`,
                 found.same.length > 0 && `the same in every trial as ${policiesOf(found.same)}`, found.apart.length > 0 && `apart from ${policiesOf(found.apart)}`,
                 found.near.length > 0 && `not apart from ${policiesOf(found.near)}`, found.unable.length > 0 && `not compared with ${policiesOf(found.unable)}`];
  return el("p", {}, of, policy, ` ${metric.best}, `, ...measure, `; ${parts.filter(Boolean).join("; ")}.`);
}

// What is answered of one side: of its jobs, then of its services.
function answersOf(section, side) {
  const elasticities = elasticitiesOf(side), services = servicesOf(side);
  const parts = [];
  if (asksJobs(side)) {
    for (const metric of Object.keys(METRICS)) parts.push(...elasticities.map((elasticity) => bestSentence(side, elasticity, metric)));
    parts.push(...elasticitySentences(side));
  }
  for (const metric of serviceMetrics(side)) parts.push(...elasticities.map((elasticity) => serviceSentence(section, side, elasticity, metric)));
  const hidden = services.length - MOST_SERVICES;
  if (hidden > 0) parts.push(el("p", {}, `Of ${hidden} more service${hidden === 1 ? "" : "s"} the table of medians tells.`));
  if (services.length > 0) {
    parts.push(el("p", { class: "soft" }, `Nothing tests services: ${APART}.`));
  }
  return parts;
}

// Of services whose latencies leave out what was dropped.
function droppedReasons(side) {
  return servicesOf(side).flatMap((service) => {
    const dropping = side.treatments.filter((treatment) => (medianOf(treatment, { column: "dropped", service }) || { median: 0 }).median > 0);
    return dropping.length === 0 ? [] : [`latencies of ${service} are without the requests that were dropped under ${[...new Set(dropping.map((t) => t.policy))].join(", ")}`];
  });
}

const isDirty = (run) => ((run.build && run.build.git_commit) || "").endsWith("-dirty");

// What may mislead whatever sides of these runs are compared.
function caresOf(sides, runs) {
  const simulated = sides.some((side) => side.simulated_cells > 0) && (sides.every((side) => side.simulated_cells === side.cells)
    ? "it is simulated: no tenant ran on hardware" : "a part is simulated");
  return [simulated, runs.some(isDirty) && "the program had changes that are in no commit"].filter(Boolean);
}

// Why the answer may mislead though it is certain; null where nothing says so.
function careSentence(section) {
  const reasons = [];
  section.comparison.sides.forEach((side, index) => {
    reasons.push(...caresOf([side], runsOf(section, side)));
    for (const treatment of leavesOutMarked(side) ? [] : side.treatments) {
      const [marked, all] = markedOf(section, side, treatment);
      if (marked > 0) reasons.push(`${marked} of ${all} trials of ${letter(section, index)}${treatment.policy}, ${treatment.elasticity}, are marked`);
    }
    reasons.push(...droppedReasons(side));
    if (side.notes.some((note) => /^PROFILE/.test(note))) reasons.push("the simulator's profile has doubts of its own");
  });
  const unique = [...new Set(reasons)], doubtsOf = `#doubts${data.sections.indexOf(section) || ""}`;
  return unique.length === 0 ? null : el("p", { class: "care" }, el("b", {}, "Take it with care: "), unique.join("; "), ". ", el("a", { href: doubtsOf }, "Doubts and marks"), " say why.");
}

function questionText(section, runs) {
  const run = runs[section.runs[0]];
  const experiment = run.experiment || {};
  const side = section.comparison.sides[0];
  const jobs = experiment.trace && experiment.trace.jobs, services = servicesOf(side);
  const world = side.simulated_cells === side.cells ? "simulated" : side.simulated_cells > 0 ? "partly simulated" : "on hardware";
  const programs = [...new Set((experiment.workload || []).map(({ name }) => name))];
  const ofPrograms = programs.length > 0 && programs.length <= MOST_NAMED ? ` (${programs.join(", ")})` : "";
  const asked = [asksJobs(side) && `has the shortest makespan and mean turnaround of ${jobs ? `${jobs} jobs` : "the jobs"}${ofPrograms} of "${experiment.name || run.path}"`,
                 services.length > 0 && `answers requests to ${services.join(", ")}${asksJobs(side) ? "" : ` of "${experiment.name || run.path}"`} best`];
  return `Which of ${side.policies.join(", ")} ${asked.filter(Boolean).join(", and which ")}, ` +
    `with ${elasticitiesOf(side).join(" and ")} tenants${experiment.machine && experiment.machine.cores ? ` on cores ${experiment.machine.cores}` : ""}? ${world}, ${side.trials} trial${side.trials === 1 ? "" : "s"}` +
    (side.one_trace ? " of one trace (repetitions: nothing is said of other workloads)." : ", each with arrivals of its own.");
}

const letter = (section, index) => (section.comparison.sides.length > 1 ? `${String.fromCharCode(65 + index)}, ` : "");
// Every question with where it was asked: "A, " where there are several sides.
const questionsOf = (section) => section.comparison.sides.flatMap((side, index) => side.questions.map((question) => ({ question, where: letter(section, index) })));

function verdicts({ question, where }) {
  const of = where + (question.of === "policies" ? `${question.elasticity}: each policy against ${question.base}` : `malleable against ${question.base}`);
  if (question.why_none) return [el("h3", {}, of), el("p", {}, `Nothing is compared: ${question.why_none}.`)];
  return [el("h3", {}, of), el("ul", {}, ...question.verdicts.map((verdict) => el("li", {}, `${METRICS[verdict.metric] || verdict.metric}: ${verdict.text}`)))];
}

function answer(section) {
  const box = el("div", { class: "answer" });
  section.comparison.sides.forEach((side, index) => {
    if (section.comparison.sides.length > 1) box.append(el("p", {}, el("b", {}, `${String.fromCharCode(65 + index)}: ${side.runs.join(", ")}`)));
    box.append(...answersOf(section, side));
  });
  for (const between of betweensOf(section)) box.append(el("p", {}, betweenSentence(between)));
  box.append(...[careSentence(section)].filter(Boolean));
  return [el("p", { class: "soft" }, questionText(section, data.runs)), box];
}

// Sides against the first that are about jobs, as it is.
function betweensOf(section) {
  const jobs = new Set(section.comparison.sides.flatMap((side, index) => (asksJobs(side) ? [String.fromCharCode(65 + index)] : [])));
  return section.comparison.between.filter(({ side, against }) => jobs.has(side) && jobs.has(against));
}

// What one side gained on the other, over all its rows.
function betweenSentence(between) {
  const decided = between.rows.filter((row) => row.effects.makespan_s && row.effects.makespan_s.decided);
  const size = ({ makespan_s: { ratio, low, high } }) => `x ${rounded(ratio)} [${rounded(low)} ${rounded(high)}]`;
  const changed = (text, rows) => (rows.length ? ` ${text}: ${rows.map((row) => `${row.name} (${size(row.effects)})`).join(", ")}.` : "");
  const shorter = decided.filter((row) => row.effects.makespan_s.ratio < 1), longer = decided.filter((row) => row.effects.makespan_s.ratio > 1);
  if (decided.length === 0) return `${between.side} against ${between.against}: no makespan is told apart.`;
  return `${between.side} against ${between.against}:${changed("shorter makespan", shorter)}${changed("longer makespan", longer)}`;
}

// Notes that stand out: what forbids to take figures as they are.
const LOUD = [/^(WARNING|FAILED|LOST|DAMAGED|UNFINISHED|MARKED|FEW TRIALS|PROFILE|MIXED|REDONE|ORDER|DEVICE|left out)/, /^TRIALS .*NOT REACHED/, /^a redo was killed/,
              MARKED_LEFT_OUT, /though they are not one experiment/];

// What failed, was lost and is marked on one side, counted from its cells: notes leave out what tables tell. "" if nothing did or is.
function lossesText(section, side) {
  const cells = runsOf(section, side).flatMap((run) => run.cells);
  const failed = cells.filter((cell) => cell.status !== "done").length, marked = cells.filter((cell) => cell.marks.length > 0).length;
  const losing = side.treatments.filter((treatment) => treatment.lost_jobs > 0);
  const lost = losing.reduce((sum, treatment) => sum + treatment.lost_jobs, 0);
  const where = losing.map((t) => `${t.policy}, ${t.elasticity} (${t.lost_jobs} in ${t.lossy_cells === t.cells ? "every trial" : `${t.lossy_cells} of ${t.cells} trials`})`);
  return [failed > 0 && `${failed} of ${cells.length} cells failed`,
          lost > 0 && `${lost} job${lost === 1 ? " was" : "s were"} lost: ${where.join("; ")}`,
          marked > 0 && `${marked} of ${cells.length} cells ${marked === 1 ? "is" : "are"} marked${leavesOutMarked(side) ? ", and left out" : ""}`].filter(Boolean).join(". ");
}

const isLoud = (note) => LOUD.some((words) => words.test(note));
// Each once, though sides may say the same.
const notesOf = (comparison) => [...new Set([...comparison.copies, ...comparison.notes, ...comparison.sides.flatMap((side) => side.notes),
                                             ...comparison.between.map((between) => between.not_pooled)])];

// Doubts and marks: what forbids to take figures as they are stands out.
function doubts(section) {
  const { comparison } = section;
  const notes = notesOf(comparison);
  const losses = comparison.sides.flatMap((side, index) => {
    const text = lossesText(section, side);
    return text ? [`${letter(section, index)}${text}.`] : [];
  });
  const none = `No cell${comparison.damaged ? " that can be read" : ""} failed, lost a job, or is marked.`;
  const parts = losses.length === 0 ? [el("p", {}, none)] : [];
  parts.push(...[...losses, ...notes.filter(isLoud)].map((text) => el("div", { class: "doubt" }, el("p", {}, text))));
  const others = notes.filter((note) => !isLoud(note));
  if (others.length > 0) parts.push(el("ul", { class: "soft" }, ...others.map((note) => el("li", {}, note))));
  return parts;
}
