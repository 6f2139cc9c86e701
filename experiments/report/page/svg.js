// Elements, numbers as text, scales, and what is told of a mark under the pointer or the focus.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) if (value !== undefined) element.setAttribute(name, value);
  // One by one: a call has no room for hundreds of thousands of arguments.
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}
const el = (name, attributes, ...children) => fill(document.createElement(name), attributes, children);
const svg = (name, attributes, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// What make() gives, or in its place a sentence: an error in one part of a page must not take the others with it.
function orWhyNot(make) {
  try {
    return make();
  } catch (error) {
    console.error(error);  // For who looks for it, and for tests.
    return [el("div", { class: "doubt" }, el("p", {}, `This part could not be drawn (${error}). The other parts are not affected, and this file holds its data.`))];
  }
}

// The largest of values and `least`; Math.max(...values) fails where they are many.
const greatest = (values, least) => values.reduce((a, b) => (b > a ? b : a), least);
const smallest = (values, most) => values.reduce((a, b) => (b < a ? b : a), most);

// A number with so many significant digits: 8.00e-6, but never 1e+5.
function rounded(value, digits = 3) {
  if (value === null || value === undefined) return "-";
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(Number(value.toPrecision(digits)))));
  return size < -3 ? value.toExponential(digits - 1) : value.toFixed(Math.max(0, digits - 1 - size));
}
// Of cores, or a share of one: as many digits as it needs, two behind the point at most.
const amount = (cores) => String(Number(cores.toFixed(2)));
const percent = (share) => (share === null || share === undefined ? "-" : rounded(share * 100, 3) + " %");
const levelText = (level) => (Math.floor(level * 1000) / 10).toString() + " %";

// Round places between low and high, about so many.
function ticks(low, high, count = 6) {
  const span = high - low || Math.abs(high) || 1;
  const rough = span / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
  const places = [];
  for (let i = Math.ceil(low / step); i * step <= high + step * 1e-9; ++i) places.push(i * step);
  return places;
}
// Those, and one below and above where they do not reach so far.
function around(low, high, count) {
  const places = low === high ? ticks(low - .05 * (Math.abs(low) || 1), high + .05 * (Math.abs(high) || 1), count) : ticks(low, high, count);
  const step = places.length > 1 ? places[1] - places[0] : Math.max(high - low, Math.abs(high) || 1);
  if (places.length === 0) places.push(low);
  while (places[0] > low) places.unshift(places[0] - step);
  while (places[places.length - 1] < high) places.push(places[places.length - 1] + step);
  return places;
}
function tickText(value, places) {
  const step = places.length > 1 ? places[1] - places[0] : 1;
  return value.toFixed(Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
}
const scale = (from, to, left, right) => (value) => left + ((value - from) / (to - from || 1)) * (right - left);

// Lines and figures of a horizontal axis at y, with a grid up to `top`. end: where it ends, if behind the last place.
function axis(x, places, y, top, title, end = 0) {
  const group = svg("g");
  for (const place of places) {
    group.append(svg("line", { class: "grid", x1: x(place), x2: x(place), y1: top, y2: y }),
                 svg("text", { x: x(place), y: y + 16, "text-anchor": "middle" }, tickText(place, places)));
  }
  const ends = [x(places[0]), Math.max(end, x(places[places.length - 1]))];
  group.append(svg("line", { class: "axis", x1: ends[0], x2: ends[1], y1: y, y2: y }),
               svg("text", { x: (ends[0] + ends[1]) / 2, y: y + 34, "text-anchor": "middle" }, title));
  return group;
}

// A picture with a name for who can't see it.
function picture(width, height, name, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": name }, ...children);
}

// What a mark says of itself; the pointer shows it, and so does the focus for those that can have it.
const told = (text) => ({ "data-tip": text });

function listenForTips() {
  const box = el("div", { id: "tip", role: "status", hidden: "" });
  document.body.append(box);
  const show = (mark, x, y) => {
    box.textContent = mark.getAttribute("data-tip");
    box.hidden = false;
    const width = box.offsetWidth;
    box.style.left = `${Math.max(4, Math.min(x + 12, scrollX + document.documentElement.clientWidth - width - 4))}px`;
    box.style.top = `${y + 14}px`;
  };
  document.addEventListener("pointermove", (event) => {
    const mark = event.target instanceof Element ? event.target.closest("[data-tip]") : null;
    if (mark) show(mark, event.pageX, event.pageY);
    else box.hidden = true;
  });
  document.addEventListener("focusin", (event) => {
    const mark = event.target.closest("[data-tip]");
    if (!mark) return void (box.hidden = true);
    const place = mark.getBoundingClientRect();
    show(mark, place.left + scrollX, place.bottom + scrollY);
  });
}
