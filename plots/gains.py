"""What one elasticity gains over another on the same traces: relative differences, trial by trial, from the runs' summaries."""
import numpy as np

import claims

THROUGHPUT, TURNAROUND = "throughput_jobs_per_hour", "mean_turnaround_s"


def gains(run, policy, metric, of="malleable", over="moldable"):
    """In percent, by trial: {trial: 100 (of / over - 1)}, of the trials that have both."""
    table = run.summary()
    table = table[table["policy"] == policy].pivot(index="trial", columns="elasticity", values=metric)
    if of not in table or over not in table:
        return {}
    return (100 * (table[of] / table[over] - 1)).dropna().to_dict()


def pooled(groups, of=np.mean):
    """The median over trials with its interval; groups: {trial: gain} each. A trial's number is that `of` its groups.

    By default their mean: the median of groups of which half gain nothing is half of the least that another gains."""
    trials = {}
    for group in groups:
        for trial, gain in group.items():
            trials.setdefault(trial, []).append(gain)
    if not trials:
        raise claims.NotHere("no trial has both elasticities")
    return claims.median(map(of, trials.values()))
