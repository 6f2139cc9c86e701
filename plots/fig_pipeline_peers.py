#!/usr/bin/env python3
"""Throughput of pipelines by cosched, oneTBB and programs in the same repetitions, and their peak memory."""
import numpy as np

import claims
import figures
import style
from benchmarks import Benchmarks, chosen
from style import plt

# Reads of a request, and what they are called.
ONE, STREAM = 200_000, 10_000
LOADS = {ONE: "one request\nof 200,000 reads", STREAM: "twenty requests\nof 10,000 reads", 1_000: "three requests\nof 1,000 reads"}
TBB = ["tbb_pipeline", "tbb_flow_graph"]
PROGRAMS = ["programs_0", "programs_2"]
NAMES = {"cosched": "cosched", "command": "cosched pipeline run", "tbb_pipeline": "oneTBB parallel_pipeline", "tbb_flow_graph": "oneTBB flow graph",
         "programs_0": "minimap2 | samtools sort -@0", "programs_2": "minimap2 | samtools sort -@2"}
COLORS = {"cosched": "#0072B2", "command": "#56B4E9", "tbb_pipeline": "#D55E00", "tbb_flow_graph": "#E69F00", "programs_0": "#7a7a7a", "programs_2": "#1B1B1B"}
STAGES = 4  # Of the pipeline of items.


def ratios(benchmarks, family, argument, peer):
    """By repetition: cosched's throughput over the peer's."""
    what = f"{NAMES[peer]} ({family}, {argument})"
    return np.array(chosen(benchmarks.counter(family, counter=f"x_{peer}"), argument, what))


def measure(benchmarks):
    def over_loads(peer):
        """Geometric mean over both loads."""
        def value():
            found = [ratios(benchmarks, "align_sort", reads, peer) for reads in (ONE, STREAM)]
            return claims.median(np.exp(np.mean(np.log(found), axis=0)))

        return value

    def of_load(peer, reads):
        return lambda: claims.median(ratios(benchmarks, "align_sort", reads, peer))

    def memory(reads):
        def value():
            ours = chosen(benchmarks.counter("align_sort", counter="rss_command"), reads, f"memory of {reads} reads")
            theirs = chosen(benchmarks.counter("align_sort", counter="rss_programs_2"), reads, "memory of the programs")
            return claims.median(np.divide(ours, theirs))

        return value

    return {
        **{peer: over_loads(peer) for peer in TBB},
        **{peer: of_load(peer, ONE) for peer in PROGRAMS},
        **{f"{peer}_stream": of_load(peer, STREAM) for peer in PROGRAMS},
        "memory_one": memory(ONE),
        "memory_stream": memory(STREAM),
        "items": lambda: claims.median(ratios(benchmarks, "items", STAGES, "tbb_flow_graph")),
    }


def draw_bars(axes, benchmarks, prefix, forms):
    """A group a load, a bar a system: the median, and each repetition as a dot."""
    loads = [reads for reads in LOADS if reads in benchmarks.counter("align_sort", counter="cosched")]
    for place, name in enumerate(forms):
        found = benchmarks.counter("align_sort", counter=prefix + name)
        for group, reads in enumerate(loads):
            x = group + (place - (len(forms) - 1) / 2) * 0.14
            values = found.get(reads)
            if values:
                axes.bar(x, np.median(values), 0.13, color=COLORS[name], label=NAMES[name] if group == 0 else None)
                axes.plot([x] * len(values), values, ".", markersize=3, color=style.INK)
    axes.set_xticks(range(len(loads)), [LOADS[reads] for reads in loads])
    axes.grid(visible=False, axis="x")


def draw_items(axes, benchmarks):
    """Microseconds that an item takes in a pipeline whose stages do nothing."""
    stages = list(benchmarks.counter("items", counter="cosched"))
    for place, name in enumerate(["cosched", *TBB]):
        found = benchmarks.counter("items", counter=name)
        for group, count in enumerate(stages):
            x = group + (place - 1) * 0.22
            values = np.divide(1e3, found[count])
            axes.bar(x, np.median(values), 0.2, color=COLORS[name])
            axes.plot([x] * len(values), values, ".", markersize=3, color=style.INK)
    axes.set_xticks(range(len(stages)), [f"{count} stage{'s' if count > 1 else ''}" for count in stages])
    axes.grid(visible=False, axis="x")
    axes.set_title("an item that takes no time [µs]", loc="left")


def draw(benchmarks, _expected):
    figure, (speed, memory, items) = plt.subplots(1, 3, figsize=(13, 4), width_ratios=(1, 1, 0.7))
    draw_bars(speed, benchmarks, "", NAMES)
    speed.set_title("align-sort: thousand reads a second", loc="left")
    draw_bars(memory, benchmarks, "rss_", ["command", *PROGRAMS])
    memory.set_title("peak of resident memory [MiB]", loc="left")
    draw_items(items, benchmarks)
    style.legend_below(figure, speed.get_legend_handles_labels()[0], 5)
    return figure


if __name__ == "__main__":
    figures.main("fig_pipeline_peers", draw, measure, __doc__, load=Benchmarks)
