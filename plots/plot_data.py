"""What a figure shows, as rows: every line, dot, bar and box of every axes, in the units of these axes. For who draws it anew."""
import csv
import re

import matplotlib as mpl
from matplotlib.collections import LineCollection, PathCollection, PolyCollection
from matplotlib.patches import Rectangle
from matplotlib.ticker import FixedLocator, FuncFormatter

COLUMNS = ["panel", "x_label", "y_label", "series", "color", "kind", "group", "x", "y", "x_end", "y_end"]
UNNAMED = re.compile(r"^(_child\d+|_container\d+|_nolegend_|)$")


def name_of(artist):
    """Its label, also one that is kept out of the legend by a line in front; "" if it has none."""
    label = str(artist.get_label())
    return "" if UNNAMED.match(label) else label.removeprefix("_")


def color_of(color):
    try:
        return mpl.colors.to_hex(color)
    except (TypeError, ValueError):  # None, or one for each element.
        return ""


def groups_of(axis):
    """Of an axis whose ticks were given names: (place, name) of each; of one of numbers nothing."""
    if not isinstance(axis.get_major_locator(), FixedLocator) or not isinstance(axis.get_major_formatter(), FuncFormatter):
        return []
    places = axis.get_majorticklocs()
    return [(place, text) for place, text in zip(places, axis.get_major_formatter().format_ticks(places)) if text]


def color_at(colors, index):
    return color_of(colors[index % len(colors)]) if len(colors) else ""


def boxes(collection):
    """(left, low, right, high) of each polygon."""
    for path in collection.get_paths():
        low, high = path.vertices.min(axis=0), path.vertices.max(axis=0)
        yield (*low, *high)


def shapes(axes):
    """(series, colour, kind, x, y, x_end, y_end) of all that shows data; the last two are empty for points."""
    for line in axes.get_lines():
        kind = "line" if line.get_linestyle() not in ("None", "none", " ", "") else "dot"
        if line.get_transform() != axes.transData:  # A level or an instant, which spans the other direction.
            kind = "mark"
        for x, y in line.get_xydata():
            yield name_of(line), color_of(line.get_color()), kind, x, y, "", ""
    bars = {patch: name_of(container) for container in axes.containers for patch in container if isinstance(patch, Rectangle)}
    for patch in axes.patches:
        if isinstance(patch, Rectangle):
            yield (bars.get(patch) or name_of(patch), color_of(patch.get_edgecolor() if patch.get_facecolor()[3] == 0 else patch.get_facecolor()), "bar",
                   patch.get_x(), patch.get_y(), patch.get_x() + patch.get_width(), patch.get_y() + patch.get_height())
    for collection in axes.collections:
        colors = collection.get_facecolor()
        if isinstance(collection, PathCollection):
            for index, (x, y) in enumerate(collection.get_offsets()):
                yield name_of(collection), color_at(colors, index), "dot", x, y, "", ""
        elif isinstance(collection, LineCollection):
            for index, segment in enumerate(collection.get_segments()):
                for x, y in segment:
                    yield name_of(collection), color_at(collection.get_edgecolor(), index), "line", x, y, "", ""
        elif isinstance(collection, PolyCollection):
            for index, (x, y, x_end, y_end) in enumerate(boxes(collection)):
                yield name_of(collection), color_at(colors, index), "box", x, y, x_end, y_end


def text_of(value):
    return value if isinstance(value, str) else f"{float(value):.9g}"


def nearest(groups, place):
    return min(groups, key=lambda group: abs(group[0] - place))[1]


def rows(figure):
    for axes in figure.axes:
        if not axes.get_visible() or not axes.axison or axes.get_label() == "<colorbar>":
            continue
        panel = axes.get_title("left") or axes.get_title() or axes.get_title("right")
        along, up = groups_of(axes.xaxis), groups_of(axes.yaxis)
        for series, color, kind, x, y, x_end, y_end in shapes(axes):
            middle = [(begin + (end if end != "" else begin)) / 2 for begin, end in ((x, x_end), (y, y_end))]
            group = nearest(along, middle[0]) if along else nearest(up, middle[1]) if up else ""
            yield [panel, axes.get_xlabel(), axes.get_ylabel(), series, color, kind, group, *map(text_of, (x, y, x_end, y_end))]


def write(figure, path):
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows(figure))
