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
  ["turnaround", "seconds from a job's arrival to its end: waiting and running. p95: nineteen of twenty jobs of a cell took no longer"],
  ["max wait", "the longest that a job of a cell waited for its first core"],
  ["jobs/h, images/s", "jobs that ended, and images that they computed, over the makespan"],
  ["told apart", "a difference that these trials show at 5 % (the method is above), however small it is; not told apart does not mean that there is none"],
  ["certain", "told apart from all others"],
  ["apart", "of services: the intervals of two medians, of 95 % or more, do not overlap. Nothing tests services", "services"],
  ["latency", "of a request, from when it was due to its answer. p99: that of the slowest hundredth of a cell's requests", "services"],
  ["in SLO", "requests that were answered within the time that was promised for each (slo_ms), over all requests", "services"],
  ["windows above", "windows of time in which a service's mean latency was above its objective (sla_ms)", "services"],
  ["used", "CPU time of the tenants' compute threads, over the machine's cores x makespan"],
  ["oversub", "oversubscription: threads that want to run beyond the cores that there are, over time, as a part of these; 0 where each thread has a core"],
  ["resizes", "how often tenants' threads were changed in a cell"],
  ["lost", "jobs that failed, were rejected or cancelled"],
  ["marked", "a cell of which its run itself said that it may mislead: other programs used the cores, a simulation went beyond what was measured"],
  ["claim", "what a published figure says, as this repository's plots check it: it holds where the whole interval of ours is within \"holds if\", and does not where the whole interval is outside", "claims"],
  ["direction only", "the published number is of another machine or other jobs, so only its sign is checked, or a bound", "claims"],
  ["not supported here", "a claim that this machine can't decide: too few cores or trials, or an interval that crosses the limit", "claims"],
  ["profile", "what the simulator knows of programs: measured on a machine, or written by hand, which its doubts say"],
  ["a [b c]", "the median over trials, and the interval that holds the true median with the level that the pointer, or the method above, tells"],
];

function methodText() {
  const questions = data.sections.flatMap((section) => section.comparison.sides.flatMap((side) => side.questions));
  const tested = questions.flatMap((question) => question.rows.flatMap((row) => Object.values(row.effects))).find((effect) => effect && effect.tested);
  if (!tested) return "No differences were tested.";
  const chosen = questions.some((question) => question.of === "policies" && question.base_is_best)
    ? " As the experiment names no baseline, policies are set against the one with the shortest makespan of these trials: as the trials chose it, p is corrected for all pairs of policies, not only for the rows that are shown." : "";
  return `Differences are ratios${tested.paired ? ", trial by trial of the same arrivals" : ""}: the median of ${tested.trials} [its interval at ${levelText(tested.level)}]. ` +
    `p is of ${tested.paired ? "Wilcoxon's signed ranks of their logarithms" : "ranks of unpaired trials"}, corrected by Holm for all comparisons of one measure in one table; so few trials allow few values of p, ` +
    "and equal ones are no error. A difference is told apart where p is below 0.05 and the interval does not hold 1." + chosen +
    " \"Trials can tell differences of so much and more; 5 % takes about so many\" trials: by how much their ratios spread, under the policy that spreads least and the one that spreads most.";
}

// Policies that an experiment makes of cosched's own by keys of theirs.
function ownPolicies() {
  const settings = data.runs.flatMap((run) => Object.entries((run.experiment && run.experiment.policy) || {}));
  return [...new Map(settings).entries()].filter(([, { use }]) => use).map(([name, { use, ...keys }]) => {
    const given = Object.entries(keys).map(([key, value]) => `${key} = ${JSON.stringify(value)}`).join(", ");
    return [name, `policy: ${use}${given ? ` with ${given}` : ""}${data.policies[use] ? `: ${data.policies[use]}` : ""}`];
  });
}

function words() {
  const sides = data.sections.flatMap((section) => section.comparison.sides);
  const has = { services: sides.some((side) => servicesOf(side).length > 0), claims: claims().length > 0 };
  const names = new Set(data.runs.flatMap((run) => (run.experiment && run.experiment.policies) || []));
  const pairs = [...WORDS.filter(([, , only]) => !only || has[only]), ...Object.entries(data.policies).filter(([name]) => names.has(name)).map(([name, summary]) => [name, `policy: ${summary}`]),
                 ...ownPolicies().filter(([name]) => names.has(name))];
  return [el("p", {}, methodText()), facts(pairs)];
}
