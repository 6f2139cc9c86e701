// A sweep as a whole, in pictures: medians along the key with most values, a line a policy and kind of tenants, a panel for each value of the other keys.

const COLORS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5a5a5a", "#1a1a1a"];
// Marks of policies, so that lines are told apart without colours, too: paths around the origin, about 2 wide. There are 11, since that and
// the 8 colours have no common factor: 88 policies come before one has both the colour and the mark of another.
const SHAPES = ["M-1,0a1,1 0 1,0 2,0a1,1 0 1,0 -2,0z", "M-.9,-.9h1.8v1.8h-1.8z", "M0,-1.1L1.1,.9H-1.1z", "M0,-1.25L1.25,0L0,1.25L-1.25,0z", "M0,1.1L1.1,-.9H-1.1z",
                "M-.4,-1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z", "M0,-1.3L.35,-.42L1.24,-.4L.56,.18L.8,1.05L0,.54L-.8,1.05L-.56,.18L-1.24,-.4L-.35,-.42z",
                "M-1.1,-.6L-.6,-1.1L0,-.5L.6,-1.1L1.1,-.6L.5,0L1.1,.6L.6,1.1L0,.5L-.6,1.1L-1.1,.6L-.5,0z", "M1.1,0L-.9,1.1V-1.1z", "M-1.1,0L.9,1.1V-1.1z",
                "M-1.1,-1.1H1.1L-1.1,1.1H1.1z"];
const DASHES = { rigid: "6 4", moldable: "2 3" };
const MOST_PANELS = 8, MOST_NAMES = 12;
const PANEL = { width: 400, height: 260, left: 62, right: 392, top: 26, bottom: 212 };
const OF_JOBS_OVER_POINTS = [["makespan_s", "makespan in s"], ["mean_turnaround_s", "mean turnaround in s"]];
const OVER_POINTS = [["core_utilization", "share of cores used"]];
const OF_SERVICES_OVER_POINTS = [["violated", "windows above the objective, worst service"], ["p99_latency_ms", "p99 latency in ms, worst service"], ["slo_attainment", "requests in SLO, worst service"]];

// Sections that are points of one sweep, by the folder of its run.
function sweepsOf(sections) {
  const sweeps = new Map();
  for (const section of sections.filter((one) => one.title)) {
    const run = data.runs[section.runs[0]].path.slice(0, -section.title.length);
    sweeps.set(run, [...(sweeps.get(run) || []), section]);
  }
  return [...sweeps.values()].filter((points) => points.length > 1);
}

function inOrder(values) {
  const found = [...new Set(values)];
  return found.every((value) => value !== "" && Number.isFinite(Number(value))) ? found.sort((a, b) => a - b) : found;
}

// The key with most values, its values, and the points by those of the other keys.
function layoutOf(points) {
  const keys = [...new Set(points.flatMap((point) => Object.keys(point.values)))];
  const valuesOf = (key) => inOrder(points.flatMap((point) => point.values[key] ?? []));
  const along = keys.reduce((a, b) => (valuesOf(b).length > valuesOf(a).length ? b : a));
  const panels = new Map();
  for (const point of points) {
    const title = keys.filter((key) => key !== along).map((key) => `${key.split(".").pop()} = ${point.values[key] ?? "-"}`).join(", ");
    panels.set(title, [...(panels.get(title) || []), point]);
  }
  return { along, names: valuesOf(along), panels: [...panels.entries()] };
}

// A metric of one treatment at one point: the median with its interval, or null.
function metricAt(treatment, metric) {
  if (treatment.medians[metric]) return treatment.medians[metric];
  const services = treatment.services.map((service) => service.medians[metric]).filter(Boolean);
  if (services.length === 0) return null;
  const worse = metric === "slo_attainment" ? (a, b) => a.median < b.median : (a, b) => a.median > b.median;
  return services.reduce((a, b) => (worse(b, a) ? b : a));
}

// The ratio to the baseline that the experiment names, or null.
function ratioAt(point, treatment, metric) {
  const question = sideAt(point).questions.find((one) => one.of === "policies" && one.elasticity === treatment.elasticity && !one.base_is_best);
  const row = question && question.rows.find(({ name }) => name === treatment.policy), effect = row && row.effects[metric];
  return effect ? { median: effect.ratio, low: effect.low, high: effect.high, level: effect.level } : null;
}

// What is drawn: { title, at(point, treatment) }, and for ratios `least`, where their axis need not begin at 0.
function drawnMetrics(points) {
  const medians = (list) => list.map(([metric, title]) => ({ title, at: (_, treatment) => metricAt(treatment, metric) }));
  const jobs = points.some((point) => asksJobs(sideAt(point)));
  const bases = points.flatMap((point) => sideAt(point).questions.filter((one) => one.of === "policies" && !one.base_is_best).map(({ base }) => base));
  const ratiosOf = jobs && bases.length > 0 ? Object.entries(METRICS).map(([metric, name]) => ({
    title: `${name} / that of ${bases[0]}`, least: 1, at: (point, treatment) => ratioAt(point, treatment, metric) })) : [];
  return [...ratiosOf, ...medians([...(jobs ? OF_JOBS_OVER_POINTS : []), ...OVER_POINTS, ...OF_SERVICES_OVER_POINTS])];
}

const treatmentsAt = (point) => sideAt(point).treatments;
const lineName = (treatment) => `${treatment.policy}, ${treatment.elasticity}`;
// index: of the treatment's policy.
function lineOf(treatment, index) {
  return { name: lineName(treatment), elasticity: treatment.elasticity, color: COLORS[index % COLORS.length], shape: index % SHAPES.length };
}

// The mark of a line's policy: filled where its tenants are malleable.
function markOf(line, x, y, more) {
  return svg("path", { class: "mark", d: SHAPES[line.shape], transform: `translate(${x} ${y}) scale(4.2)`, fill: line.elasticity === "malleable" ? line.color : "#ffffff",
                       stroke: line.color, "stroke-width": 2, "vector-effect": "non-scaling-stroke", ...more });
}

// The vertical axis with its grid.
function sideAxis(y, places, title) {
  const group = svg("g");
  for (const place of places) {
    group.append(svg("line", { class: "grid", x1: PANEL.left, x2: PANEL.right, y1: y(place), y2: y(place) }),
                 svg("text", { x: PANEL.left - 6, y: y(place) + 4, "text-anchor": "end" }, tickText(place, places)));
  }
  group.append(svg("line", { class: "axis", x1: PANEL.left, x2: PANEL.left, y1: PANEL.top, y2: PANEL.bottom }),
               svg("text", { x: PANEL.left - 54, y: 14 }, title));
  return group;
}

function footAxis(x, names, along) {
  const group = svg("g", {}, svg("line", { class: "axis", x1: PANEL.left, x2: PANEL.right, y1: PANEL.bottom, y2: PANEL.bottom }),
                    svg("text", { x: (PANEL.left + PANEL.right) / 2, y: PANEL.bottom + 38, "text-anchor": "middle" }, keyName(along)));
  const every = Math.ceil(names.length / MOST_NAMES), most = Math.max(4, Math.floor(52 / Math.ceil(names.length / every)));
  names.forEach((name, index) => {
    if (index % every !== 0) return;
    const shown = name.length > most ? `${name.slice(0, most - 1)}…` : name;
    group.append(svg("text", { x: x(index), y: PANEL.bottom + 17, "text-anchor": "middle", ...told(name) }, shown));
  });
  return group;
}

function lineOverPoints(line, places, x, y, names) {
  const marks = [];
  const path = places.map(({ at, median }, index) => `${index ? "L" : "M"}${x(at)},${y(median.median)}`).join("");
  marks.push(svg("path", { d: path, fill: "none", stroke: line.color, "stroke-width": 1.8, "stroke-dasharray": DASHES[line.elasticity] }));
  for (const { at, median } of places) {
    const interval = median.low === undefined ? "" : `\n${rounded(median.low)} to ${rounded(median.high)}, level ${levelText(median.level)}`;
    if (median.low !== undefined) marks.push(svg("line", { x1: x(at), x2: x(at), y1: y(median.low), y2: y(median.high), stroke: line.color, "stroke-width": 1.5 }));
    marks.push(markOf(line, x(at), y(median.median), { tabindex: 0, ...told(`${line.name}, ${names[at]}: ${rounded(median.median)}${interval}`) }));
  }
  return marks;
}

// One metric in one panel, with its axis at those places; null where nothing has it.
function panelOf(points, layout, lines, { title, at }, of, places) {
  const drawn = lines.map((line, index) => ({ line, shift: lines.length > 1 ? .24 * (index / (lines.length - 1) - .5) : 0, places: points.flatMap((point) => {
    const treatment = treatmentsAt(point).find((one) => lineName(one) === line.name);
    const median = treatment ? at(point, treatment) : null;
    return median ? [{ at: layout.names.indexOf(point.values[layout.along]), median }] : [];
  }).sort((a, b) => a.at - b.at) })).filter((line) => line.places.length > 0);
  if (drawn.length === 0) return null;
  const y = scale(places[0], places[places.length - 1], PANEL.bottom, PANEL.top);
  const x = scale(-.5, layout.names.length - .5, PANEL.left, PANEL.right);
  const head = `${title}${of ? `; ${of}` : ""}`;
  return picture(PANEL.width, PANEL.height, `${head}, along ${layout.along}`, sideAxis(y, places, head), footAxis(x, layout.names, layout.along),
                 ...drawn.flatMap((one) => lineOverPoints(one.line, one.places, (place) => x(place + one.shift), y, layout.names)));
}

function legend(lines) {
  return el("p", {}, ...lines.map((line) => el("span", { class: "key" }, svg("svg", { width: 34, height: 14, viewBox: "0 0 34 14", "aria-hidden": "true" },
    svg("line", { x1: 1, x2: 33, y1: 7, y2: 7, stroke: line.color, "stroke-width": 2, "stroke-dasharray": DASHES[line.elasticity] }), markOf(line, 17, 7)), line.name)));
}

// All of one sweep: a row of panels a metric, then whose lines they are.
function overPoints(points) {
  const layout = layoutOf(points), shown = layout.panels.slice(0, MOST_PANELS);
  const policies = [...new Set(points.flatMap((point) => treatmentsAt(point).map((treatment) => treatment.policy)))];
  const lines = [...new Map(points.flatMap(treatmentsAt).map((one) => [lineName(one), lineOf(one, policies.indexOf(one.policy))])).values()];
  const parts = [legend(lines)];
  for (const metric of drawnMetrics(points)) {
    const found = points.flatMap((point) => treatmentsAt(point).map((treatment) => metric.at(point, treatment))).filter(Boolean);
    const lowest = metric.least === undefined ? 0 : smallest(found.map((median) => median.low ?? median.median), metric.least);
    const highest = greatest(found.map((median) => median.high ?? median.median), metric.least ?? 0);
    if (found.length === 0 || highest === 0) continue;
    parts.push(el("div", { class: "panels" }, ...shown.map(([of, among]) => panelOf(among, layout, lines, metric, of, around(lowest, highest, 5)))));
  }
  const hidden = layout.panels.length - shown.length;
  parts.push(el("p", { class: "soft" }, `Medians of each point's trials, with their intervals; cells that lost jobs are left out, unless all of a policy's did. ${bracketsText(points)}${hidden ? ` ${hidden} more panels are not shown.` : ""}`));
  return parts;
}
