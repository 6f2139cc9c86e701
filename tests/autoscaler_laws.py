"""Autoscalers turned to the cores of an instance, for check_controllers.py: laws as those of controller_laws.py, from what
Knative, Kubernetes, Sponge and FA2 say of themselves and not from the code under test."""
import math

from controller_laws import Law


class Period:
    """Windows, until they are a control period."""

    def __init__(self, length_s):
        self.length_s, self.windows = length_s, []

    def add(self, seen, cores):
        """What happened in the period, if it is over with this window."""
        self.windows.append((seen["length_s"], seen["dispatched"], seen["cpu_s"], seen["length_s"] * cores))
        if sum(window[0] for window in self.windows) < self.length_s - 1e-9:
            return None
        sums = dict(zip(("length_s", "dispatched", "cpu_s", "granted_s"), map(sum, zip(*self.windows))))
        self.windows = []
        return sums


class Kpa(Law):
    """Knative: whole cores for the mean of the requests that were there in the stable time; it panics by a shorter one."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.seen, self.now, self.panics_until = [], 0.0, 0.0

    def cores_for(self, time_s, slack):
        """Of the latest windows that fit in that time, one at least."""
        windows, length = [], 0.0
        for window in reversed(self.seen):
            if windows and length + window[0] > time_s + 1e-9:
                break
            windows.append(window)
            length += window[0]
        mean = sum(length_s * in_flight for length_s, in_flight in windows) / length
        return math.ceil(mean / (self.number("target") * self.number("utilization")) - 1e-9 + slack)

    def wanted(self, seen, cores, slack):
        self.now += seen["length_s"]
        self.seen.append((seen["length_s"], seen["mean_in_flight"]))
        stable, panic = (self.cores_for(self.number(name), slack) for name in ("stable_s", "panic_s"))
        if panic >= 2 * cores:
            self.panics_until = self.now + self.number("stable_s")
        if self.now < self.panics_until:
            return max(stable, panic, cores)
        return max(stable, math.floor(cores / 2 + 1e-9))


class Hpa(Law):
    """Kubernetes' horizontal autoscaler: c' = c x use / target, unless near; it shrinks to no less than it wanted lately."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.period, self.now = Period(self.number("period_s")), 0.0
        self.recommended, self.goal = [], None

    def wanted(self, seen, cores, slack):
        if not self.recommended:
            self.recommended.append((0.0, cores))
        self.now += seen["length_s"]
        period = self.period.add(seen, cores)
        if period:
            ratio = period["cpu_s"] / period["granted_s"] / self.number("target")
            near = abs(ratio - 1) <= self.number("tolerance") + 1e-9 + slack
            recommended = cores if near else cores * ratio + slack
            lately = [one for time, one in self.recommended if time >= self.now - self.number("calm_s") - 1e-9]
            self.goal = recommended if recommended >= cores else min(cores, max([recommended, *lately]))
            self.recommended.append((self.now, recommended))
        return cores if self.goal is None else self.goal


class Vpa(Law):
    """Kubernetes' vertical autoscaler: a percentile of what was used, in a histogram that forgets, and a margin."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.period, self.now, self.samples, self.goal = Period(self.number("period_s")), 0.0, [], None

    @staticmethod
    def bucket_end(bucket):
        return 0.01 * (1.05 ** (bucket + 1) - 1) / 0.05  # The first is of 0.01 cores, each other a twentieth wider.

    def wanted(self, seen, cores, slack):
        self.now += seen["length_s"]
        period = self.period.add(seen, cores)
        if period:
            used = period["cpu_s"] / period["length_s"] + slack
            bucket = next(bucket for bucket in range(10_000) if used < self.bucket_end(bucket))
            self.samples.append((self.now, bucket, max(0.1, cores)))
            weights = {}
            for time, bucket, weight in self.samples:
                weights[bucket] = weights.get(bucket, 0.0) + weight * 2 ** ((time - self.now) / self.number("half_life_s"))
            below, reached = self.number("percentile") * sum(weights.values()), 0.0
            for bucket in sorted(weights):
                reached += weights[bucket]
                if reached >= below - 1e-12:
                    break
            self.goal = self.bucket_end(bucket) * (1 + self.number("margin"))
        return cores if self.goal is None else self.goal


def best_line(points):
    """points: (weight, x, y). g and h >= 0 with the least squares of y - (g x + h)."""
    n, x, y, xx, xy = (sum(weight * of(px, py) for weight, px, py in points) for of in (
        lambda a, b: 1, lambda a, b: a, lambda a, b: b, lambda a, b: a * a, lambda a, b: a * b))
    lines = [(xy / xx, 0.0), (0.0, y / n)]
    if n * xx - x * x > 1e-12 * n * xx:
        slope = (n * xy - x * y) / (n * xx - x * x)
        if min(slope, y - slope * x) >= 0:
            return slope, (y - slope * x) / n
    else:
        return lines[0]  # All at one number of cores: taken for work that cores divide.
    return min(lines, key=lambda line: sum(weight * (py - line[0] * px - line[1]) ** 2 for weight, px, py in points))


class Latency:
    """Sponge: what a request takes on c cores, g / c + h, by least squares over the program's curve and the windows seen, each
    newer one with a twentieth more weight. Those that wait for each other take turns."""

    def __init__(self):
        self.points, self.work, self.waited_s = [], 1.0, 0.0

    def add(self, seen, cores, lanes):
        self.work = seen["mean_work"] or self.work
        if seen["answered"] == 0:
            return
        self.waited_s = max(0.0, seen["mean_s"] - seen["mean_process_s"])
        turns = max(1.0, seen["mean_in_flight"] / lanes)
        self.points.append((lanes / cores, seen["mean_process_s"] / turns / self.work))

    def line(self, unit_s):
        windows = [(0.95 ** age, x, y) for age, (x, y) in enumerate(reversed(self.points))]
        slope, constant = best_line([(1.0, 1 / k, time) for k, time in enumerate(unit_s, start=1)] + windows)
        return slope * self.work, constant * self.work


class Sponge(Law):
    """Razavi et al., EuroMLSys 2024, in batches of one: the least cores with which a period's requests, come at once, would keep
    0.9 of the objective."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.latency, self.period, self.goal = Latency(), Period(self.number("period_s")), None

    def wanted(self, seen, cores, slack):
        self.latency.add(seen, cores, 1)
        self.goal = cores if self.goal is None else self.goal
        period = self.period.add(seen, cores)
        if not period:
            return self.goal
        requests = math.ceil(period["dispatched"] / period["length_s"] * self.number("period_s") - 1e-9)
        g, h = self.latency.line(seen["unit_s"])
        grid = self.number("grid")
        steps = range(math.ceil(self.number("least") / grid - 1e-9), math.floor(seen["most"] / grid + 1e-9) + 1)
        most_s = 0.9 * seen["objective_s"] - self.latency.waited_s + slack
        amounts = (step * grid for step in steps)
        self.goal = next((amount for amount in amounts if requests == 0 or requests * (g / amount + h) <= most_s), self.goal)
        return self.goal


class Fa2(Law):
    """Razavi et al., RTAS 2022, as Sponge has it: the least lanes of one core that keep up with the rate and the objective."""

    def __init__(self, parameters):
        super().__init__(parameters)
        self.latency, self.period, self.goal = Latency(), Period(self.number("period_s")), None

    def wanted(self, seen, cores, slack):
        lanes = math.ceil(round(cores, 6))
        self.latency.add(seen, cores, lanes)
        self.goal = lanes if self.goal is None else self.goal
        period = self.period.add(seen, cores)
        if not period:
            return self.goal
        rate = period["dispatched"] / period["length_s"]
        requests = math.ceil(rate * self.number("period_s") - 1e-9)
        request_s = sum(self.latency.line(seen["unit_s"]))
        for lanes in range(1, seen["most"] + 1):
            longest_s = math.ceil(requests / lanes) * request_s + self.latency.waited_s
            in_time = requests == 0 or longest_s <= 0.9 * seen["objective_s"] + slack
            if lanes * math.floor(1 / request_s + 1e-9 + slack) >= rate - 1e-9 and in_time:
                self.goal = lanes
                break
        return self.goal
