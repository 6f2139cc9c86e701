"""What is compared: the cells, the results that are kept of each, and the tables made of them. Nothing here measures."""
import csv
import math
import statistics
from dataclasses import dataclass

INFERENCE_MODELS = ["lenet5", "alexnet", "vgg16", "googlenet", "inception_v3", "mobilenet_v2", "resnet50", "convnext_tiny"]
INFERENCE_BATCHES = [1, 8, 32]
TRAINING_CELLS = [("resnet50", 8), ("resnet56", 128), ("alexnet", 32), ("lenet5", 64), ("mobilenet_v2", 8)]
SYSTEMS = ["cosched", "onnxruntime", "pytorch"]
BEFORE = "before"  # Another build of cosched, which takes its turns with the others.
PEER = {"inference": "onnxruntime", "training": "pytorch"}  # Whom the ratio and the target are about.
TARGET = {"inference": 1.00, "training": 1.10}  # In every cell.
TITLES = {"inference": "Inference", "training": "Training steps"}
FEWEST_TURNS = 10  # Of which a distribution is told.
SLOW = 0.8
FIELDS = ["mode", "model", "batch", "threads", "system", "variant", "repetition", "images_per_s", "images_per_cpu_s",
          "peak_mib", "runtime_mib"]


@dataclass(frozen=True)
class Cell:
    mode: str  # "inference" or "training"
    model: str
    batch: int
    threads: int

    def __str__(self):
        return f"{self.mode} {self.model} batch {self.batch} threads {self.threads}"


def plan(only, models, batches, threads):
    """The cells that remain of the whole table; None: all of that dimension."""
    cells = [Cell("inference", model, batch, count) for model in INFERENCE_MODELS
             for batch in batches or INFERENCE_BATCHES for count in threads]
    cells += [Cell("training", model, batch, count) for model, batch in TRAINING_CELLS
              if not batches or batch in batches for count in threads]
    return [cell for cell in cells if only in (None, cell.mode) and (not models or cell.model in models)]


def rows(cell, worker, results):
    """The CSV's rows of one system in one cell: one a repetition."""
    shared = {"mode": cell.mode, "model": cell.model, "batch": cell.batch, "threads": cell.threads, "system": worker.system,
              "variant": worker.ready.get("variant", ""), "peak_mib": f"{worker.peak_kib() / 1024:.1f}",
              "runtime_mib": f"{worker.ready.get('runtime_kib', 0) / 1024:.1f}"}
    for repetition, result in enumerate(results):
        yield {**shared, "repetition": repetition, "images_per_s": f"{result['images'] / result['seconds']:.6g}",
               "images_per_cpu_s": f"{result['images'] / result['cpu_seconds']:.6g}" if result.get("cpu_seconds") else ""}


class Measured:
    """One system in one cell."""

    def __init__(self, cell_rows):
        by_repetition = sorted(cell_rows, key=lambda row: int(row["repetition"]))
        self.speeds = [float(row["images_per_s"]) for row in by_repetition]
        self.cpu_speeds = [float(row["images_per_cpu_s"]) for row in by_repetition if row["images_per_cpu_s"]]
        self.variant = by_repetition[0]["variant"]
        self.peak_mib = float(by_repetition[0]["peak_mib"])
        self.runtime_mib = float(by_repetition[0]["runtime_mib"])

    @property
    def median(self):
        return statistics.median(self.speeds)

    def share_of_median(self, quantile):
        """The speed below which this share of the turns is; 0: the slowest turn. As a share of the median."""
        return sorted(self.speeds)[int(quantile * (len(self.speeds) - 1))] / self.median

    @property
    def slow_turns(self):
        """Share of the turns at less than SLOW of the median."""
        return sum(speed < SLOW * self.median for speed in self.speeds) / len(self.speeds)

    @property
    def spread(self):
        """Half of the range as a share of the median."""
        return (max(self.speeds) - min(self.speeds)) / 2 / self.median


def read(path):
    """{cell: {system: Measured}} of a CSV, in its order."""
    collected = {}
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            cell = Cell(row["mode"], row["model"], int(row["batch"]), int(row["threads"]))
            collected.setdefault(cell, {}).setdefault(row["system"], []).append(row)
    return {cell: {system: Measured(kept) for system, kept in systems.items()} for cell, systems in collected.items()}


def ratio(systems, mode):
    """cosched's median over its peer's; None if one of them is missing."""
    if "cosched" not in systems or PEER[mode] not in systems:
        return None
    return systems["cosched"].median / systems[PEER[mode]].median


def cpu_ratio(systems, mode):
    """The same per second of CPU time: what remains of the comparison on a machine that others use too. At 1 thread only:
    with more, threads that spin count as working."""
    if "cosched" not in systems or PEER[mode] not in systems:
        return None
    ours, theirs = systems["cosched"].cpu_speeds, systems[PEER[mode]].cpu_speeds
    return statistics.median(ours) / statistics.median(theirs) if ours and theirs else None


def ratio_range(systems, mode):
    """Smallest and largest ratio of two turns of one round: how far the noise goes."""
    pairs = [a / b for a, b in zip(systems["cosched"].speeds, systems[PEER[mode]].speeds)]
    return min(pairs), max(pairs)


def geometric_mean(values):
    return math.exp(statistics.fmean(math.log(value) for value in values))


def speed_text(measured):
    if measured is None:
        return "-"
    return f"{measured.median:.4g} ±{100 * measured.spread:.0f}%"


def memory_text(systems):
    """Of cosched and ONNX Runtime, without what node needed before ONNX Runtime was asked for anything in brackets."""
    texts = []
    for system in ("cosched", "onnxruntime"):
        measured = systems.get(system)
        texts.append("-" if measured is None else f"{measured.peak_mib:.0f}")
    runtime = systems.get("onnxruntime")
    return texts[0], texts[1] + (f" ({runtime.peak_mib - runtime.runtime_mib:.0f})" if runtime else "")


def table(measured, mode):
    """Markdown: a row a cell, then the geometric mean and how many cells reach the target."""
    cells = {cell: systems for cell, systems in measured.items() if cell.mode == mode}
    memory = mode == "inference"
    columns = ["model", "batch", "threads", *SYSTEMS, f"ratio to {PEER[mode]}", "its range", "per CPU second"]
    columns += ["peak MiB", f"of {PEER[mode]}"] if memory else []
    if mode == "training":
        columns.remove("onnxruntime")
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for cell, systems in cells.items():
        shown = [speed_text(systems.get(system)) for system in SYSTEMS if system in columns]
        value, per_cpu = ratio(systems, mode), cpu_ratio(systems, mode)
        if value is None:
            shown += ["-", "-", "-"]
        else:
            low, high = ratio_range(systems, mode)
            below = " below" if value < TARGET[mode] else ""
            shown += [f"{value:.2f}{below}", f"{low:.2f} to {high:.2f}",
                      f"{per_cpu:.2f}" if per_cpu and cell.threads == 1 else "-"]
        shown += memory_text(systems) if memory else []
        lines.append("| " + " | ".join([cell.model, str(cell.batch), str(cell.threads), *shown]) + " |")
    return "\n".join(lines)


def summary(measured, mode):
    """Lines below the table."""
    cells = {cell: systems for cell, systems in measured.items() if cell.mode == mode}
    ratios = {cell: ratio(systems, mode) for cell, systems in cells.items()}
    known = {cell: value for cell, value in ratios.items() if value is not None}
    if not known:
        return [f"No ratio: cosched or {PEER[mode]} was not measured."]
    reached = sum(value >= TARGET[mode] for value in known.values())
    lines = [f"cosched / {PEER[mode]}: {reached} of {len(known)} cells at {TARGET[mode]:.2f} or more; geometric mean "
             f"{geometric_mean(known.values()):.3f}; lowest {min(known.values()):.3f} ({min(known, key=known.get)}), "
             f"highest {max(known.values()):.3f} ({max(known, key=known.get)})."]
    if mode == "inference":
        lean = [systems["cosched"].peak_mib <= systems["onnxruntime"].peak_mib for cell, systems in cells.items()
                if cell in known]
        strict = [systems["cosched"].peak_mib <= systems["onnxruntime"].peak_mib - systems["onnxruntime"].runtime_mib
                  for cell, systems in cells.items() if cell in known]
        lines.append(f"Peak memory at most ONNX Runtime's: {sum(lean)} of {len(lean)} cells; at most what it needed beyond "
                     f"node's own: {sum(strict)} of {len(strict)}.")
    return lines


def turns(measured, mode):
    """Markdown: how steady each system's turns are, a row a cell; empty if there are few."""
    cells = {cell: systems for cell, systems in measured.items() if cell.mode == mode}
    if not cells or min(len(one.speeds) for systems in cells.values() for one in systems.values()) < FEWEST_TURNS:
        return ""
    told = [("slowest", lambda one: f"{one.share_of_median(0):.2f}"), ("5 %", lambda one: f"{one.share_of_median(0.05):.2f}"),
            (f"below {SLOW}", lambda one: f"{100 * one.slow_turns:.1f} %")]
    known = [system for system in SYSTEMS if any(system in systems for systems in cells.values())]
    columns = ["model", "batch", "threads", "turns", *(f"{system}: {name}" for system in known for name, _ in told)]
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for cell, systems in cells.items():
        shown = [text(systems[system]) if system in systems else "-" for system in known for _, text in told]
        count = min(len(one.speeds) for one in systems.values())
        lines.append("| " + " | ".join([cell.model, str(cell.batch), str(cell.threads), str(count), *shown]) + " |")
    return "\n".join(["Turns as shares of their median: the slowest, the one below which 5 % are, how many are below "
                      f"{SLOW}.", "", *lines, ""])


def beside_another_build(measured):
    """Markdown: this build of cosched against the other, all modes in one table; empty if there is none."""
    cells = {cell: systems for cell, systems in measured.items() if "cosched" in systems and BEFORE in systems}
    if not cells:
        return ""
    lines = ["## Beside another build of cosched, images/s", "", "| mode | model | batch | threads | this | other | ratio | "
             "its range |", "|" + "---|" * 8]
    ratios, lost = {}, []
    for cell, systems in cells.items():
        pairs = [a / b for a, b in zip(systems["cosched"].speeds, systems[BEFORE].speeds)]
        ratios[cell] = systems["cosched"].median / systems[BEFORE].median
        lost += [str(cell)] if max(pairs) < 1 else []
        lines.append(f"| {cell.mode} | {cell.model} | {cell.batch} | {cell.threads} | {speed_text(systems['cosched'])} | "
                     f"{speed_text(systems[BEFORE])} | {ratios[cell]:.3f} | {min(pairs):.2f} to {max(pairs):.2f} |")
    lines += ["", f"Geometric mean {geometric_mean(ratios.values()):.3f}; lowest {min(ratios.values()):.3f} "
              f"({min(ratios, key=ratios.get)}), highest {max(ratios.values()):.3f} ({max(ratios, key=ratios.get)}). Slower in "
              f"every round: {', '.join(lost) if lost else 'no cell'}.", ""]
    return "\n".join(lines)


def report(measured):
    """All tables as one markdown text."""
    parts = []
    for mode in TITLES:
        if any(cell.mode == mode for cell in measured):
            parts += [f"## {TITLES[mode]}, f32, images/s", "", table(measured, mode), "", *summary(measured, mode), ""]
            parts += [turns(measured, mode)] if turns(measured, mode) else []
    parts += [beside_another_build(measured)] if beside_another_build(measured) else []
    return "\n".join(parts)
