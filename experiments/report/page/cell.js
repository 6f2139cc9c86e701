// One cell: its jobs over time with the cores of each, the cores in use, and its raw records.

const WAITING = "#d0d0d0";
const coreColor = (cores, most) => `hsl(${205}, 75%, ${Math.round(78 - 50 * Math.min(1, cores / Math.max(1, most)))}%)`;

function gantt(cell, name) {
  const { jobs, spans } = cell.data;
  const most = greatest(spans.map((span) => span[3]), 1);
  const row = Math.max(4, Math.min(20, 900 / jobs.length));
  const place = new Map(jobs.map((job, index) => [job[0], index]));
  const x = scale(0, endOf(cell), LABELS, WIDTH - RIGHT);
  const bottom = jobs.length * row + 4;
  const marks = [];
  for (const [job, from, to, cores, threads] of spans) {
    const y = place.get(job) * row + 2, thick = cores > 0 ? row - 2 : Math.max(2, row / 2 - 1);
    const text = `job ${job}, ${jobs[place.get(job)][1]}: ${cores > 0 ? `${amount(cores)} core${cores === 1 ? "" : "s"}, ${threads} thread${threads === 1 ? "" : "s"}` : "waits or is paused"}\n${rounded(from, 4)} to ${rounded(to, 4)} s`;
    marks.push(svg("rect", { x: x(from), width: Math.max(.5, x(to) - x(from)), y: y + (row - 2 - thick) / 2, height: thick, fill: cores > 0 ? coreColor(cores, most) : WAITING, ...told(text) }));
    if (cores > 0 && row >= 14 && x(to) - x(from) > 18) marks.push(svg("text", { x: x(from) + 4, y: y + row / 2 + 3, "font-size": 10, fill: "#000", style: cores / most > .6 ? "fill:#fff" : undefined, "pointer-events": "none" }, amount(cores)));
  }
  const every = Math.max(1, Math.ceil(14 / row));
  const numbered = row >= 14 ? "the number is" : "darker is more of";
  const legendText = `seconds; ${numbered} the cores granted, grey waits or is paused, a cross is a lost job`;
  jobs.forEach(([id, workload, , , ended, state, reason], index) => {
    if (index % every === 0) marks.push(svg("text", { x: LABELS - 10, y: index * row + row / 2 + 5, "text-anchor": "end", "font-size": 11 }, `${workload} ${id}`));
    if (state !== "finished" && state !== "declined") marks.push(svg("path", { d: `M${x(ended) - 4},${index * row + row / 2 - 4}l8,8m-8,0l8,-8`, stroke: "#b00020", "stroke-width": 2.5, ...told(`job ${id} ${state}: ${reason}`) }));
  });
  return picture(WIDTH, bottom + 44, `Cores of every job over time, ${name}`, axis(x, ticks(0, endOf(cell), 8), bottom, 0, legendText, x(endOf(cell))), marks);
}

const endOf = (cell) => greatest(cell.data.spans.map((span) => span[2]), greatest(cell.data.jobs.map((job) => job[4]), 1e-3));

// Cores granted to all jobs together, a step at every change.
function coresInUse(cell, name) {
  const changes = new Map();
  for (const [, from, to, cores] of cell.data.spans) {
    changes.set(from, (changes.get(from) || 0) + cores);
    changes.set(to, (changes.get(to) || 0) - cores);
  }
  const times = [...changes.keys()].sort((a, b) => a - b);
  let now = 0;
  const steps = times.map((time) => [time, (now += changes.get(time))]);
  const most = greatest(steps.map(([, cores]) => cores), 1);
  const x = scale(0, endOf(cell), LABELS, WIDTH - RIGHT), y = scale(0, most, 104, 10);
  const marks = steps.slice(0, -1).map(([time, cores], index) => svg("rect", { x: x(time), width: Math.max(.5, x(steps[index + 1][0]) - x(time)), y: y(cores), height: y(0) - y(cores), fill: "#7fb3d5", ...told(`${amount(Math.abs(cores))} cores granted\n${rounded(time, 4)} to ${rounded(steps[index + 1][0], 4)} s`) }));
  return picture(WIDTH, 150, `Cores granted over time, ${name}`, axis(x, ticks(0, endOf(cell), 8), 104, 8, "seconds", x(endOf(cell))),
                 svg("text", { x: LABELS - 10, y: 14, "text-anchor": "end" }, amount(most)), svg("text", { x: LABELS - 10, y: 108, "text-anchor": "end" }, "0"),
                 svg("text", { x: LABELS - 10, y: 62, "text-anchor": "end" }, "cores granted"), marks);
}

function cellView(run, cell) {
  const name = `${cell.policy}, ${cell.elasticity}, trial ${cell.trial}`;
  const parts = [el("h3", {}, name), ...cell.marks.map((mark) => el("div", { class: "doubt" }, el("p", {}, `MARKED: ${mark}`)))];
  if (cell.status !== "done") parts.push(el("div", { class: "doubt" }, el("p", {}, `FAILED, left out of every figure: ${cell.reason || "its records say no reason"}`)));
  if (!cell.data) parts.push(el("p", { class: "soft" }, "Its jobs are not in this file, which would be too large: see its records."));
  else if (cell.data.jobs.length === 0) parts.push(el("p", { class: "soft" }, "No job of its ended."));
  else if (!cell.data.spans) parts.push(el("p", { class: "soft" }, "Its run recorded no grants."));
  else {
    if (cell.data.all_jobs > cell.data.jobs.length) parts.push(el("p", { class: "soft" }, `The first ${cell.data.jobs.length} of ${cell.data.all_jobs} jobs.`));
    parts.push(...[gantt, coresInUse].flatMap((draw) => orWhyNot(() => [el("div", { class: "scroll" }, draw(cell, name))])));
  }
  const link = (file) => el("a", { href: encodeURI(`${cell.link}/${file}`) }, file);
  const records = cell.files.filter((file) => !file.startsWith("timeline.json"));
  const timeline = cell.files.find((file) => file.startsWith("timeline.json"));
  parts.push(el("p", { class: "screen" }, "Raw rows, where the run's folder is: ", ...records.flatMap((file, index) => [index ? ", " : "", link(file)]), "."));
  if (timeline) parts.push(el("p", { class: "screen" }, "Timeline: ", link(timeline), ", to be opened in ui.perfetto.dev."));
  return parts;
}
