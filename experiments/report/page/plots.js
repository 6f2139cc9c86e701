// Pictures of a comparison. Every mark says on hover what it is; shapes and places tell what colours do, too.

const ROW = 24, LABELS = 190, WIDTH = 880, RIGHT = 36;

// A metric's value in one cell; null where it has none.
function valueOf(run, cell, { column, service }) {
  const ofCell = (values, columns) => values[columns.indexOf(column)] ?? null;
  if (service === undefined) return ofCell(cell.values, run.columns);
  const found = (cell.services || []).find((one) => one.service === service);
  return found ? ofCell(found.values, run.service_columns) : null;
}

// A cell all of whose jobs were lost has times of 0, which mean nothing.
const hasTimes = (run, cell) => valueOf(run, cell, { column: "lost" }) === 0 || valueOf(run, cell, { column: "lost" }) !== valueOf(run, cell, { column: "jobs" });

// The treatments of one side that have a metric, { column } or { column, service }, with their trials.
function rowsOfDots(section, side, metric, prefix) {
  if (metric.service === undefined && !asksJobs(side)) return [];
  return side.treatments.map((treatment) => ({
    name: `${prefix}${treatment.policy}, ${treatment.elasticity}`, median: medianOf(treatment, metric),
    cells: cellsOf(section, side, treatment).filter(({ run, cell }) => cell.status === "done" && hasTimes(run, cell))
      .map(({ run, cell }) => ({ cell, value: valueOf(run, cell, metric) })).filter(({ value }) => value !== null),
  }));
}

// Each treatment's trials, median and interval of one metric. A marked trial is a cross. null where nothing has it.
function dots(section, metric, title) {
  const rows = section.comparison.sides.flatMap((side, index) => rowsOfDots(section, side, metric, sideName(section, index) && `${sideName(section, index)} `));
  const ofMedian = (median) => (median ? [median.low ?? median.median, median.median, median.high ?? median.median] : []);
  const values = rows.flatMap((row) => [...row.cells.map((c) => c.value), ...ofMedian(row.median)]);
  if (values.length === 0) return null;
  const highest = greatest(values, values[0]);
  const places = around(smallest(values, 0), highest || 1);
  const x = scale(places[0], places[places.length - 1], LABELS, WIDTH - RIGHT);
  const height = rows.length * ROW + 52;
  const marks = rows.flatMap((row, index) => rowOfDots(row, x, 14 + index * ROW));
  return picture(WIDTH, height, `${title} of every treatment`, axis(x, places, rows.length * ROW + 4, 2, title), marks);
}

function rowOfDots(row, x, y) {
  const marks = [svg("text", { x: LABELS - 10, y: y + 4, "text-anchor": "end" }, row.name)];
  for (const { cell, value } of row.cells) {
    const text = `${cell.policy}, ${cell.elasticity}, trial ${cell.trial}: ${rounded(value, 4)}${cell.marks.length ? `\nmarked: ${cell.marks.join("\n")}` : ""}`;
    marks.push(cell.marks.length
      ? svg("path", { d: `M${x(value) - 4},${y - 4}l8,8m-8,0l8,-8`, stroke: "#b00020", "stroke-width": 2, ...told(text) })
      : svg("circle", { cx: x(value), cy: y, r: 4, fill: "none", stroke: "#5a5a5a", "pointer-events": "all", ...told(text) }));
  }
  if (!row.median) return marks;
  const { median, low, high, level, values } = row.median;
  const text = `${row.name}\nmedian of ${values}: ${rounded(median, 4)}${low === undefined ? "" : `\n${rounded(low, 4)} to ${rounded(high, 4)}, level ${levelText(level)}`}`;
  if (low !== undefined) marks.push(svg("line", { x1: x(low), x2: x(high), y1: y, y2: y, stroke: "#0072b2", "stroke-width": 5, "stroke-opacity": .45, ...told(text) }));
  marks.push(svg("line", { x1: x(median), x2: x(median), y1: y - 8, y2: y + 8, stroke: "#0072b2", "stroke-width": 3, tabindex: 0, ...told(text) }));
  return marks;
}

// Ratios of a question's rows with their intervals: filled is decided, hollow is not.
function ratios(rows, metric, title) {
  const shown = rows.filter((row) => row.effects[metric]);
  if (shown.length === 0) return null;
  const effects = shown.map((row) => row.effects[metric]);
  const low = smallest(effects.map((e) => e.low ?? e.ratio), 1), high = greatest(effects.map((e) => e.high ?? e.ratio), 1);
  const places = around(low - (high - low) * .05, high + (high - low) * .05, 7);
  const x = scale(places[0], places[places.length - 1], LABELS, WIDTH - RIGHT);
  const bottom = shown.length * ROW + 4;
  const marks = shown.flatMap((row, index) => rowOfRatio(row.name, effects[index], x, 14 + index * ROW));
  return picture(WIDTH, bottom + 48, title, axis(x, places, bottom, 2, title),
                 svg("line", { x1: x(1), x2: x(1), y1: 0, y2: bottom, stroke: "#1a1a1a", "stroke-dasharray": "5 3" }), ...marks);
}

function rowOfRatio(name, effect, x, y) {
  const text = effect.tested
    ? `${name}: x ${rounded(effect.ratio, 4)} [${rounded(effect.low, 4)} ${rounded(effect.high, 4)}], level ${levelText(effect.level)}\ncorrected p ${rounded(effect.corrected_p, 2)}` +
      `${effect.wins === undefined ? "" : `, shorter in ${effect.wins} of ${effect.trials}`}\n${effect.decided ? "told apart" : "not told apart"}`
    : `${name}: x ${rounded(effect.ratio, 4)}, not tested`;
  const marks = [svg("text", { x: LABELS - 10, y: y + 4, "text-anchor": "end", class: effect.decided ? "decided" : undefined }, name)];
  if (effect.tested) marks.push(svg("line", { x1: x(effect.low), x2: x(effect.high), y1: y, y2: y, stroke: "#0072b2", "stroke-width": 3, ...told(text) }));
  marks.push(svg("circle", { cx: x(effect.ratio), cy: y, r: 5.5, fill: effect.decided ? "#0072b2" : "#ffffff", stroke: "#0072b2", "stroke-width": 2, tabindex: 0, ...told(text) }));
  return marks;
}
