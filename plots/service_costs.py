"""What a policy leaves above its services' objectives, and how many cores it grants for that, by trial."""
import claims


def violated(run, policy):
    """Percent of the windows of all services."""
    table = run.services()
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
