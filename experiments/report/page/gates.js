// The [[gate]]s of an experiment, as they were judged.

const gateValue = (gate) => (gate.estimate === null ? "no data"
  : el("span", {}, medianText({ median: gate.estimate, low: gate.low, high: gate.high }), el("span", { class: "interval" }, gate.level > 0 ? ` ${levelText(gate.level)}` : "")));
const gateLimits = ({ min, max }) => limitsText({ from: min ?? undefined, to: max ?? undefined });

function gateVerdict(gate) {
  const text = gate.verdict === "undecided" ? `undecided, ${gate.passes ? "passes" : "fails"}` : gate.verdict;
  return el("span", { class: `verdict ${gate.passes ? (gate.verdict === "holds" ? "holds" : "open") : "fails"}` }, text);
}

function gatesOf(section) {
  const rows = section.comparison.sides.flatMap((side, index) => side.gates.map((gate) => ({ side: sideName(section, index), ...gate })));
  if (rows.length === 0) return [];
  const failed = rows.filter((gate) => !gate.passes).length;
  return [el("p", {}, failed === 0 ? "Every gate passes." : el("b", {}, `${failed} of ${rows.length} gates ${failed === 1 ? "fails" : "fail"}.`)),
    sortable([{ title: "gate", kind: "text", value: (gate) => `${gate.side} ${gate.policy}`.trim() }, { title: "tenants", kind: "text", value: (gate) => gate.elasticity },
      { title: "metric", kind: "text", value: (gate) => [gate.service, gate.metric, gate.against && `/ that of ${gate.against}`].filter(Boolean).join(" ") },
      { title: "holds if", kind: "text", value: gateLimits },
      { title: "estimate", value: (gate) => gate.estimate, text: gateValue },
      { title: "trials", value: (gate) => gate.trials, text: (gate) => String(gate.trials) },
      { title: "verdict", kind: "text", value: (gate) => gate.verdict, text: gateVerdict },
      { title: "why", kind: "text long", value: (gate) => gate.reason || "" }], rows)];
}
