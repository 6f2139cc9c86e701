"""What a policy leaves above its services' objectives, and how many cores it grants for that, by trial."""
import claims


def change(runs, of, ours, others):
    """Percent, by trial: ours against the mean of the other policies, over all runs, as a ratio of sums. of(run, policy)."""
    mine = sum(of(run, ours) for run in runs)
    theirs = sum(of(run, other) for run in runs for other in others) / len(others)
    return claims.median((100 * (mine / theirs - 1)).dropna())


def violated(run, policy):
    """Percent of the windows of all services."""
    table = run.services()
    if table is None:
        raise claims.NotHere("the run has no services")
    table = table[table["policy"] == policy].groupby("trial")[["violated", "windows"]].sum()
    if table.empty:
        raise claims.NotHere(f"the records lack {policy}")
    return 100 * table["violated"] / table["windows"]


def core_seconds(run, policy):
    """Granted to instances. Without any none are."""
    table = run.summary()
    table = table[table["policy"] == policy].set_index("trial")
    if table.empty:
        raise claims.NotHere(f"the records lack {policy}")
    return table["granted_core_s"].fillna(0)
