// The question, and what the comparison answers: in sentences, the certain first.

const METRICS = { makespan_s: "makespan", mean_turnaround_s: "mean turnaround" };
const lossless = (treatment) => treatment.failed_cells === 0 && treatment.lossy_cells === 0 && treatment.cells > 0;

// The policy with the lowest median of those that lost nothing, and from which others it is told apart.
function best(side, elasticity, metric) {
  const treatments = side.treatments.filter((t) => t.elasticity === elasticity && lossless(t) && t.medians[metric]);
  if (treatments.length === 0) return null;
  const first = treatments.reduce((a, b) => (b.medians[metric].median < a.medians[metric].median ? b : a));
  const others = side.treatments.filter((t) => t.elasticity === elasticity && t.policy !== first.policy);
  const question = side.questions.find((q) => q.of === "policies" && q.elasticity === elasticity);
  const effectOf = (policy) => {  // Of a policy against the best; null where nothing tested that.
    const row = (name) => question && question.rows.find((r) => r.name === name);
    if (question && question.base === first.policy) return (row(policy) || { effects: {} }).effects[metric] || null;
    const own = question && question.base === policy ? row(first.policy) : null;
    return own ? own.effects[metric] : null;
  };
  const told = [], alike = [], untested = [];
  for (const other of others) {
    const effect = effectOf(other.policy);
    (effect === null ? untested : effect.decided ? told : alike).push(other.policy);
  }
  return { policy: first.policy, median: first.medians[metric], told, alike, untested, alone: others.length === 0 };
}

function bestSentence(side, elasticity, metric) {
  const found = best(side, elasticity, metric);
  if (!found) return el("p", {}, `${elasticity}: no policy finished every job of every trial, so none is best.`);
  if (found.alone) return el("p", {}, `${elasticity}: `, el("b", {}, found.policy), ` alone; its ${METRICS[metric]} is `, medianText(found.median), " s.");
  const certain = found.alike.length === 0 && found.untested.length === 0;
  const parts = [`${elasticity}: `, el("b", {}, found.policy), ` has the shortest ${METRICS[metric]}, `, medianText(found.median), " s. "];
  if (certain) return el("p", {}, ...parts, el("b", {}, "Of these trials that is certain"), ` at 5 %: it is told apart from ${found.told.join(", ")}.`);
  parts.push(el("b", {}, "That is not certain"), ": ");
  const reasons = [];
  if (found.alike.length > 0) reasons.push(`it can't be told apart from ${found.alike.join(", ")}`);
  if (found.untested.length > 0) reasons.push(`nothing tested it against ${found.untested.join(", ")}`);
  if (found.told.length > 0) reasons.push(`it is told apart from ${found.told.join(", ")}`);
  return el("p", {}, ...parts, reasons.join("; ") + ".");
}

// Cells that were marked, and all, of one policy.
function markedOf(section, policy, elasticity) {
  const cells = section.runs.flatMap((place) => data.runs[place].cells).filter((cell) => cell.policy === policy && cell.elasticity === elasticity);
  return [cells.filter((cell) => cell.marks.length > 0).length, cells.length];
}

// Why the answer may mislead though it is certain; null where nothing says so.
function careSentence(section) {
  const reasons = [];
  for (const side of section.comparison.sides) {
    if (side.simulated_cells > 0) reasons.push(side.simulated_cells === side.cells ? "it is simulated: no hardware was timed" : "a part is simulated");
    for (const elasticity of elasticitiesOf(side)) {
      const found = best(side, elasticity, "makespan_s");
      for (const policy of found ? [found.policy, ...found.told, ...found.alike] : []) {
        const [marked, all] = markedOf(section, policy, elasticity);
        if (marked > 0) reasons.push(`${marked} of ${all} trials of ${policy}, ${elasticity}, are marked`);
      }
    }
    if (side.notes.some((note) => /^PROFILE/.test(note))) reasons.push("the simulator's profile has doubts of its own");
  }
  const unique = [...new Set(reasons)];
  return unique.length === 0 ? null : el("p", { class: "care" }, el("b", {}, "Take it with care: "), unique.join("; "), ". ", el("a", { href: "#doubts" }, "Doubts and marks"), " say why.");
}

const elasticitiesOf = (side) => [...new Set(side.treatments.map((t) => t.elasticity))];

function questionText(section, runs) {
  const run = runs[section.runs[0]];
  const experiment = run.experiment || {};
  const side = section.comparison.sides[0];
  const jobs = experiment.trace && experiment.trace.jobs;
  const world = side.simulated_cells === side.cells ? "simulated" : side.simulated_cells > 0 ? "partly simulated" : "on hardware";
  return `Which of ${side.policies.join(", ")} lets ${jobs ? `${jobs} jobs` : "the jobs"} of "${experiment.name || run.path}" end soonest, ` +
    `with ${elasticitiesOf(side).join(" and ")} tenants? ${world}, ${side.trials} trial${side.trials === 1 ? "" : "s"}` +
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

function answer(section, runs) {
  const parts = [el("p", { class: "soft" }, questionText(section, runs))];
  const several = section.comparison.sides.length > 1;
  const box = el("div", { class: "answer" });
  section.comparison.sides.forEach((side, index) => {
    if (several) box.append(el("p", {}, el("b", {}, `${String.fromCharCode(65 + index)}: ${side.runs.join(", ")}`)));
    for (const metric of Object.keys(METRICS)) for (const elasticity of elasticitiesOf(side)) box.append(bestSentence(side, elasticity, metric));
  });
  for (const between of section.comparison.between) box.append(el("p", {}, betweenSentence(between)));
  box.append(...[careSentence(section)].filter(Boolean));
  parts.push(box);
  return parts;
}

// What one side gained on the other, over all its rows.
function betweenSentence(between) {
  const decided = between.rows.filter((row) => row.effects.makespan_s && row.effects.makespan_s.decided);
  const changed = (text, rows) => (rows.length ? ` ${text}: ${rows.map((row) => `${row.name} (x ${rounded(row.effects.makespan_s.ratio)})`).join(", ")}.` : "");
  const shorter = decided.filter((row) => row.effects.makespan_s.ratio < 1), longer = decided.filter((row) => row.effects.makespan_s.ratio > 1);
  if (decided.length === 0) return `${between.side} against ${between.against}: no makespan is told apart.`;
  return `${between.side} against ${between.against}:${changed("shorter makespan", shorter)}${changed("longer makespan", longer)}`;
}

// Doubts and marks: what forbids to take figures as they are stands out.
function doubts(section) {
  const all = [...section.comparison.copies, ...section.comparison.notes, ...section.comparison.sides.flatMap((side) => side.notes),
                 ...section.comparison.between.map((between) => between.not_pooled)];
  const notes = [...new Set(all)];  // Sides may say the same.
  const loud = /^(WARNING|FAILED|LOST|DAMAGED|UNFINISHED|MARKED|FEW TRIALS|PROFILE|MIXED|REDONE|ORDER|DEVICE|left out)/;
  const severe = notes.filter((note) => loud.test(note)), others = notes.filter((note) => !loud.test(note));
  const parts = severe.length === 0 ? [el("p", {}, "No cell failed, lost a job, or is marked.")] : severe.map((note) => el("div", { class: "doubt" }, el("p", {}, note)));
  if (others.length > 0) parts.push(el("ul", { class: "soft" }, ...others.map((note) => el("li", {}, note))));
  return parts;
}
