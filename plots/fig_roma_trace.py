#!/usr/bin/env python3
"""Mean responses and cores under the two shapes of load of ROMA's published runs, each with both choices of the modelled device's queue."""
import numpy as np

import claims
import figures
import style
from style import plt

SHAPES = {48: "load of the H1 run", 60: "load of the random run"}  # By the length of the bursts.
CHOICES = {"h1": "H1", "random": "at random"}
SERVICES = {"googlenet": "GoogLeNet", "skyline": "Skyline"}
POLLING, FIRST, BURST = "services.polling", "trace.requests.0.phases.0.for_s", "trace.requests.0.phases.1.for_s"
QUIET, BURSTS = 20, {"googlenet": 100, "skyline": 80}  # Requests a second.
SAMPLE, SAMPLES, MARGIN = 2.0, 10, 1.1  # How the authors count: means of ten samples of 2 s, above 1.1 x the objective.


def run_of(sweep, shape, polling="published"):
    for point in sweep.points:
        if point.values[BURST] == shape and point.values[POLLING] == polling:
            return point.run
    raise claims.NotHere(f"there is no run of bursts of {shape} s with {polling} polling")


def of_choice(table, choice):
    table = table[table["policy"] == choice]
    if table.empty:
        raise claims.NotHere(f"the records lack {choice}")
    return table


def response(run, choice, service):
    """Mean, in milliseconds, by trial."""
    table = of_choice(run.services(), choice)
    return table[table["service"] == service].set_index("trial")["mean_latency_ms"]


def core_seconds(run, choice):
    return of_choice(run.summary(), choice).set_index("trial")["granted_core_s"]


def violated_of(requests, objective_s):
    """Percent of the windows, as the authors count them; samples without an answer are dropped before."""
    answers = requests.dropna(subset=["finished"])
    latency = answers["finished"] - answers["scheduled"]
    samples = latency.groupby(answers["finished"] // SAMPLE).mean().to_numpy()
    windows = samples[:len(samples) // SAMPLES * SAMPLES].reshape(-1, SAMPLES).mean(axis=1)
    return 100 * np.mean(windows > MARGIN * objective_s)


def violated(run, choice, expected):
    """Mean over the services, by trial."""
    shares = []
    for cell in (cell for cell in run.cells if cell.policy == choice):
        requests = cell.table("requests", ("service", "scheduled", "finished"))
        shares.append(np.mean([violated_of(requests[requests["service"] == service], objective)
                               for service, objective in expected["objective_s"].items()]))
    if not shares:
        raise claims.NotHere(f"the records lack {choice}")
    return np.array(shares)


def measure(sweep):
    expected = figures.expected_of("fig_roma_trace")

    def ratio(of, shape, choice):
        """Against the load of the H1 run with H1, by trial."""
        return (of(run_of(sweep, shape), choice) / of(run_of(sweep, 48), "h1")).dropna()

    def published(name):
        found = expected["published"][name]
        return found["random"] / found["h1"]

    def share(of, name):
        """Percent of what lies between the published runs."""
        return claims.median(100 * (ratio(of, 60, "h1") - 1) / (published(name) - 1))

    def googlenet(run, choice):
        return response(run, choice, "googlenet")

    def skyline(run, choice):
        return response(run, choice, "skyline")

    return {
        "googlenet": lambda: claims.median(ratio(googlenet, 60, "h1")),
        "skyline": lambda: claims.median(ratio(skyline, 60, "h1")),
        "cores": lambda: claims.median(ratio(core_seconds, 60, "h1")),
        "violations": lambda: claims.median(violated(run_of(sweep, 60), "h1", expected) - violated(run_of(sweep, 48), "h1", expected)),
        "googlenet_share": lambda: share(googlenet, "googlenet_s"),
        "skyline_share": lambda: share(skyline, "skyline_s"),
        "cores_share": lambda: share(core_seconds, "core_s"),
        "choice": lambda: claims.median(ratio(googlenet, 48, "random")),
        "both": lambda: claims.median(ratio(googlenet, 60, "random")),
    }


def notes(sweep, expected):
    lines = ["medians: mean response of GoogLeNet, of Skyline [ms]; core-seconds; windows violated as the authors count [%]"]
    for polling in ("published", "work-conserving"):
        for shape, label in SHAPES.items():
            run = run_of(sweep, shape, polling)
            for choice in CHOICES:
                values = [np.median(response(run, choice, service)) for service in SERVICES]
                lines.append(f"  {polling} polling, {label}, chosen by {choice:<6}: {values[0]:4.0f}, {values[1]:4.0f}; "
                             f"{np.median(core_seconds(run, choice)):4.0f}; {np.median(violated(run, choice, expected)):4.1f}")
    return lines


def draw_load(axes, sweep):
    """Each service's bursts, the published shapes as steps."""
    for shape, color in zip(SHAPES, ("#0072B2", "#D55E00")):
        point = next(point for point in sweep.points if point.values[BURST] == shape)
        for service, line in zip(SERVICES, ("-", (0, (4, 2)))):
            index = list(SERVICES).index(service)
            lengths = [point.values[f"trace.requests.{index}.phases.{phase}.for_s"] for phase in range(3)]
            times = np.concatenate([[0], np.cumsum(lengths)])
            axes.step(times, [QUIET, BURSTS[service], QUIET, QUIET], where="post", color=color, linestyle=line, linewidth=1.2,
                      label=f"{SERVICES[service]}, {SHAPES[shape]}")
    axes.set_title("requests a second", loc="left")
    axes.set(xlabel="time [s]", xlim=(0, 240), ylim=(0, 175))
    axes.legend(loc="upper left")


def draw_values(axes, sweep, of, published):
    for place, shape in enumerate(SHAPES):
        for shift, choice, color in ((-0.15, "h1", "#009E73"), (0.15, "random", "#7a7a7a")):
            ours = of(run_of(sweep, shape), choice)
            axes.plot([place + shift] * len(ours), ours, "o", markersize=3, alpha=0.6, color=color,
                      label=f"queue chosen {'by H1' if choice == 'h1' else CHOICES[choice]}" if place == 0 else None)
    for place, (shift, choice) in enumerate(((-0.15, "h1"), (0.15, "random"))):
        axes.plot(place + shift, published[choice], "x", color=style.EXCESS, markersize=7, label="published" if place == 0 else None)
    axes.set_xticks(range(len(SHAPES)), [label.replace(" of the ", "\nof the ") for label in SHAPES.values()])
    axes.set_xlim(-0.5, len(SHAPES) - 0.5)
    axes.set_ylim(bottom=0)


def draw(sweep, expected):
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.8), width_ratios=[1.4, 1, 1, 1])
    draw_load(axes[0], sweep)
    for axis, (service, name) in zip(axes[1:], SERVICES.items()):
        published = {choice: 1e3 * seconds for choice, seconds in expected["published"][f"{service}_s"].items()}
        draw_values(axis, sweep, lambda run, choice, service=service: response(run, choice, service), published)
        axis.set_title(f"{name}'s mean response [ms]", loc="left")
    draw_values(axes[3], sweep, core_seconds, expected["published"]["core_s"])
    axes[3].set_title("granted core-seconds", loc="left")
    figure.suptitle("ROMA's controller under both published loads, beside two modelled devices (figures derived from published traces)")
    style.legend_below(figure, axes[1].get_legend_handles_labels()[0], 3)
    return figure


if __name__ == "__main__":
    figures.main("fig_roma_trace", draw, measure, __doc__, notes=notes)
