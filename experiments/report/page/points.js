// Which policy was best at each point of a sweep: in sentences for all of them, and in a row each.

const keyName = (key) => key.split(".").pop();
const linkToPoint = (point, text) => el("a", { href: `#section${data.sections.indexOf(point) || ""}` }, text);
const sideAt = (point) => point.comparison.sides[0];

// What is asked at every point: { title, what, words, of(point, elasticity) }, which gives { names, all, certain, doubted, median, measure }, or null where
// nothing answers it. Of jobs tests tell policies apart; of services nothing but the intervals of their medians does.
const TESTED = { title: "certain", counted: "certain at", not: "not told from" }, BY_INTERVALS = { title: "apart from all others", counted: "apart from all others at", not: "not apart from" };

function asksAt(points) {
  const asks = points.some((point) => asksJobs(sideAt(point))) ? Object.entries(METRICS).map(([metric, title]) => ({
    title, what: `shortest ${title} (median)`, words: TESTED, of: (point, elasticity) => {
      const side = sideAt(point), found = asksJobs(side) ? best(side, elasticity, metric) : null;
      return found && { ...certaintyOf(found), median: found.median.median, measure: el("span", {}, medianText(found.median), " s") };
    },
  })) : [];
  const ofServices = new Map(points.flatMap((point) => serviceMetrics(sideAt(point))).map((metric) => [`${metric.service}: ${metric.title}`, metric]));
  for (const [title, metric] of ofServices) {
    asks.push({ title, what: `best ${title} (median)`, words: BY_INTERVALS, of: (point, elasticity) => {
      const found = bestOfService(point, sideAt(point), elasticity, metric);
      if (!found) return null;
      const names = [found.policy, ...found.same.map(({ policy }) => policy)], doubted = [...found.near, ...found.unable];
      return { names, doubted, all: names.length + doubted.length + found.apart.length, certain: doubted.length === 0, median: found.median.median, measure: el("span", {}, ...measureText(found.treatment, metric)) };
    } });
  }
  return asks;
}

const isTie = (found) => found.all > 1 && found.names.length === found.all;

function certainText(found, words) {
  if (found.all === 1) return "alone";
  if (isTie(found)) return "all are the same";
  return found.certain ? "yes" : `no: ${words.not} ${othersOf(found.doubted, found.all - found.names.length)}`;
}

// "avg at 12 of 18 points, pref at 3", the most frequent first.
function tally(counts, all) {
  const places = [...counts.entries()].sort((a, b) => b[1] - a[1]);
  return places.map(([name, count], index) => (index === 0 ? `${name} at ${count} of ${all} point${all === 1 ? "" : "s"}` : `${name} at ${count}`)).join(", ");
}

function countNames(lists) {
  const counts = new Map();
  for (const name of lists.flat()) counts.set(name, (counts.get(name) || 0) + 1);
  return counts;
}

function askSentence(ask, points, elasticity, of) {
  const found = points.map((point) => ask.of(point, elasticity)).filter(Boolean);
  if (found.every(({ all }) => all === 1)) return null;
  const ties = found.filter(isTie), decided = found.filter((one) => one.certain && !isTie(one) && one.all > 1);
  const counts = countNames(found.filter((one) => !isTie(one)).map(({ names }) => names));
  const parts = counts.size === 0 ? [] : [`${tally(counts, points.length)}; ${ask.words.counted} ${decided.length}`];
  if (ties.length > 0) parts.push(`all policies are the same in every trial at ${ties.length}`);
  return el("p", {}, of, el("b", {}, ask.what), `: ${parts.join("; ")}.`);
}

// How often the rows of questions, of one at each point, are told apart.
function countedSentence(words, metric, questions) {
  if (questions.length === 0) return null;
  const decided = ({ effects }) => effects[metric] && effects[metric].decided;
  const names = (holds) => countNames(questions.map(({ rows }) => rows.filter((row) => decided(row) && holds(row.effects[metric].ratio)).map(({ name }) => name)));
  const told = [["shorter", names((ratio) => ratio < 1)], ["longer", names((ratio) => ratio > 1)]].filter(([, counts]) => counts.size > 0);
  const text = told.length === 0 ? "nothing is told apart at any point" : `${told.map(([word, counts]) => `${word} under ${tally(counts, questions.length)}`).join("; ")}; the others are not told apart`;
  return el("p", {}, `${words}, ${METRICS[metric]}: ${text}.`);
}

// Policies against the baseline that the experiment names, and malleable tenants against others, counted over the points.
function countedSentences(points) {
  const questions = points.flatMap((point) => sideAt(point).questions
    .filter((question) => question.rows.length > 0 && (question.of === "elasticities" || !question.base_is_best)));
  const several = new Set(points.flatMap((point) => elasticitiesOf(sideAt(point)))).size > 1;
  const words = (question) => (question.of === "elasticities" ? `Malleable against ${question.base}`
    : `${several ? `${question.elasticity}: each` : "Each"} policy against ${question.base}`);
  const kinds = [...new Set(questions.map(words))];
  return kinds.flatMap((kind) => Object.keys(METRICS).map((metric) => countedSentence(kind, metric, questions.filter((question) => words(question) === kind))));
}

// What the columns behind medians mean.
function judgedText(asks) {
  const has = (words) => asks.some((ask) => ask.words === words);
  return [has(TESTED) && "Certain: told apart from all others at 5 %, or from whom not.",
          has(BY_INTERVALS) && `Nothing tests services: ${APART}. Of equal medians the one with the better mean of its trials is named.`].filter(Boolean).join(" ");
}

// A row for each point, and for each kind of tenants where there are several.
function pointsTable(points, asks, elasticities) {
  const keys = [...new Set(points.flatMap((point) => Object.keys(point.values)))];
  const rows = points.flatMap((point) => elasticities.map((elasticity) => ({ point, elasticity, found: asks.map((ask) => ask.of(point, elasticity)) })))
    .filter(({ found }) => found.some(Boolean));
  const order = new Map(keys.map((key) => [key, inOrder(points.flatMap((point) => point.values[key] ?? []))]));
  const placeOf = ({ point }, key) => order.get(key).indexOf(point.values[key]);
  rows.sort((a, b) => keys.map((key) => placeOf(a, key) - placeOf(b, key)).find((difference) => difference !== 0) ?? 0);
  const number = (value) => (value !== undefined && value !== "" && Number.isFinite(Number(value)) ? Number(value) : value);
  const columns = keys.map((key, index) => ({ title: keyName(key), kind: "text", tip: key, value: ({ point }) => number(point.values[key]),
    text: ({ point }) => (index === 0 ? linkToPoint(point, String(point.values[key] ?? "-")) : String(point.values[key] ?? "-")) }));
  if (elasticities.length > 1) columns.push({ title: "tenants", kind: "text", value: ({ elasticity }) => elasticity });
  asks.forEach((ask, index) => {
    const of = ({ found }) => found[index];
    columns.push({ title: ask.what, kind: "text wrap", value: (row) => (of(row) ? of(row).names.join(", ") : null), text: (row) => (!of(row) ? "-" : isTie(of(row)) ? `all ${of(row).all}` : of(row).names.join(", ")) },
                 { title: "median", value: (row) => (of(row) ? of(row).median : null), text: (row) => (of(row) ? of(row).measure : "-") },
                 { title: ask.words.title, kind: "text wrap", value: (row) => (of(row) ? certainText(of(row), ask.words) : null), text: (row) => (of(row) ? certainText(of(row), ask.words) : "-") });
  });
  return sortable(columns, rows, `The first column leads to a point with its tables, pictures and cells. ${judgedText(asks)} ${bracketsText(points)}`);
}

// Notes that stand out at every point.
function commonDoubts(points) {
  const ofEach = points.map((point) => new Set(notesOf(point.comparison)));
  return [...ofEach[0]].filter((note) => isLoud(note) && ofEach.every((notes) => notes.has(note)));
}

// All of one sweep: what was asked and the answer, what forbids to take it as it is, and the table.
function pointsAnswer(points) {
  const elasticities = [...new Set(points.flatMap((point) => elasticitiesOf(sideAt(point))))], asks = asksAt(points);
  const box = el("div", { class: "answer" });
  for (const elasticity of elasticities) {
    const of = elasticities.length > 1 ? `${elasticity}: ` : "";
    box.append(...asks.map((ask) => askSentence(ask, points, elasticity, of)).filter(Boolean));
  }
  if (points.some((point) => asksJobs(sideAt(point)))) box.append(...countedSentences(points).filter(Boolean));
  const cares = caresOf(points.map(sideAt), points.flatMap((point) => point.runs.map((place) => data.runs[place])));
  if (cares.length > 0) box.append(el("p", { class: "care" }, el("b", {}, "Take it with care: "), `${cares.join("; ")}.`));
  const doubts = commonDoubts(points), few = doubts.find((note) => note.startsWith("FEW TRIALS"));
  if (few) box.prepend(el("p", {}, el("b", {}, "No point can be decided"), `: ${few.replace("FEW TRIALS: ", "")}.`));
  const asked = `Which of ${sideAt(points[0]).policies.join(", ")} is best at each of ${points.length} points, with ${elasticities.join(" and ")} tenants? `;
  return [el("p", { class: "soft" }, `${asked}Each point is an experiment of its own; nothing tests one against another.`), box,
          ...doubts.map((text) => el("div", { class: "doubt" }, el("p", {}, `At every point: ${text}`))), pointsTable(points, asks, elasticities)];
}
