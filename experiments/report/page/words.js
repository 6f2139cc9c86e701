// What the words of the page mean, for a reader who has only the page.

const WORDS = [
  ["tenant", "a program that computes on the machine's cores beside others: here a job, or an instance of a service"],
  ["policy", "decides which tenant runs on how many cores, and changes that while they run"],
  ["rigid", "a tenant with as many threads as it asked for, all the time"],
  ["moldable", "a tenant whose number of threads is chosen as it starts, and stays"],
  ["malleable", "a tenant whose threads follow its cores while it runs"],
  ["cell", "one policy with one kind of tenants in one trial: the unit that is run and recorded"],
  ["trial", "one repetition. All policies replay the same arrivals in a trial, so they are compared trial by trial"],
  ["makespan", "from the first arrival to the last end of any job"],
  ["turnaround", "seconds from a job's arrival to its end: waiting and running. p95: that of the slowest twentieth of the jobs of a cell"],
  ["latency", "of a request, from when it was due to its answer. p99: that of the slowest hundredth of a cell's requests"],
  ["in SLO", "requests that were answered within the time that was promised for each (slo_ms), over all requests"],
  ["windows above", "windows of time in which a service's mean latency was above its objective (sla_ms)"],
  ["used", "CPU time of the tenants' compute threads, over the machine's cores x makespan"],
  ["oversub", "oversubscription: threads that want to run beyond the cores that there are, over time, as a part of these; 0 where each thread has a core"],
  ["resizes", "how often tenants' threads were changed in a cell"],
  ["lost", "jobs that failed, were rejected or cancelled"],
  ["marked", "a cell of which its run itself said that it may mislead: other programs used the cores, a simulation went beyond what was measured"],
  ["profile", "what the simulator knows of programs: measured on a machine, or written by hand, which its doubts say"],
  ["a [b c]", "the median over trials, and the interval that holds the true median with the level that the method below has"],
];

function methodText(section) {
  const rows = section.comparison.sides.flatMap((side) => side.questions.flatMap((question) => question.rows.flatMap((row) => Object.values(row.effects))));
  const tested = rows.find((effect) => effect && effect.tested);
  if (!tested) return "No differences were tested.";
  return `Differences are ratios${tested.paired ? ", trial by trial of the same arrivals" : ""}: the median of ${tested.trials} [its interval at ${levelText(tested.level)}]. ` +
    `p is of ${tested.paired ? "Wilcoxon's signed ranks of their logarithms" : "ranks of unpaired trials"}, corrected by Holm for all comparisons of a table; so few trials allow few values of p, ` +
    "and equal ones are no error. A difference is told apart where p is below 0.05 and the interval does not hold 1.";
}

function words() {
  const pairs = [...WORDS, ...Object.entries(data.policies).map(([name, summary]) => [name, `policy: ${summary}`])];
  return [...data.sections.slice(0, 1).map((section) => el("p", {}, methodText(section))), facts(pairs)];
}
