// Shows what the reader has chosen of the study's numbers. What a win is was decided before; here it is only counted.
const $ = (id) => document.getElementById(id);
async function unpacked(id) {
  const bytes = Uint8Array.from(atob($(id).textContent), (letter) => letter.charCodeAt(0));
  return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).text();
}
const data = JSON.parse(await unpacked("data"));
new Function(await unpacked("vega"))();
const labels = Object.fromEntries(data.learners.map((one) => [one.key, one.label]));
const colours = Object.fromEntries(data.learners.map((one) => [one.key, one.colour]));
const BANDS = 3; // of more learners than these, bands would cover each other
const OPPOSITE = { win: "loss", loss: "win", tie: "tie", undecided: "undecided" };
const chosen = { words: {}, search: "", learners: new Set(data.learners.map((one) => one.key)), baseline: data.baseline,
  pair: null, curve: "", sort: { key: "name", down: false } };

// ---- small things
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;
function standardError(values) {
  if (values.length < 2) return null;
  const centre = mean(values);
  return Math.sqrt(values.reduce((sum, value) => sum + (value - centre) ** 2, 0) / (values.length - 1) / values.length);
}
const fixed = (value, digits = 4, sign = "") =>
  value === null || value === undefined || Number.isNaN(value) ? "" : (value >= 0 ? sign : "−") + Math.abs(value).toFixed(digits);
const order = () => data.learners.map((one) => one.key).filter((key) => chosen.learners.has(key));
function datasets() {
  const words = Object.entries(chosen.words).filter(([, value]) => value);
  const search = chosen.search.toLowerCase();
  const fits = (one) => words.every(([key, value]) => one[key] === value)
    && (!search || one.name.toLowerCase().includes(search) || one.dataset.toLowerCase().includes(search));
  return new Set(data.datasets.flatMap((one, place) => (fits(one) ? [place] : [])));
}
function options(select, pairs, value) {
  select.replaceChildren(...pairs.map(([key, text]) => element("option", { value: key, selected: key === value }, text)));
}

// ---- numbers
const rewards = Object.fromEntries(Object.entries(data.rewards || {}).map(([key, { set, mean }]) =>
  [key, Object.fromEntries(set.map((place, at) => [place, mean[at]]))]));
function contrast(first, second, sets = datasets()) {
  const forth = `${first}|${second}` in data.pairs.set, key = forth ? `${first}|${second}` : `${second}|${first}`;
  if (!(key in data.pairs.set)) return [];
  const pair = Object.fromEntries(Object.entries(data.pairs).map(([column, values]) => [column, values[key]]));
  const sign = forth ? 1 : -1, a = rewards[first], b = rewards[second];
  const rows = pair.set.flatMap((place, at) => sets.has(place) ? [{ ...data.datasets[place], place,
    mean: sign * pair.mean[at] || 0, limit: pair.limit[at], seeds: pair.seeds[at], a: a[place], b: b[place], outcome: forth ? pair.outcome[at] : OPPOSITE[pair.outcome[at]] }] : []);
  rows.sort((one, other) => one.mean - other.mean || (one.dataset < other.dataset ? -1 : 1));
  return rows.map((row, rank) => ({ ...row, rank: rank + 1, low: row.mean - (row.limit || 0), high: row.mean + (row.limit || 0) }));
}
function counts(rows) {
  const found = { win: 0, tie: 0, loss: 0, undecided: 0 };
  for (const row of rows) found[row.outcome] += 1;
  return found;
}
const numbered = (n) => `${n} ${n === 1 ? "dataset" : "datasets"}`;
function told(found) {
  const words = [["win", "wins"], ["tie", "ties"], ["loss", "losses"]].map(([one, many]) => `${found[one]} ${found[one] === 1 ? one : many}`);
  if (!found.undecided) return words.join(", ");
  return [...(found.win + found.tie + found.loss ? words : []), `${found.undecided} undecided`].join(", ");
}

// ---- charts
function filled(node, words) {
  if (typeof node === "string") return Object.entries(words).reduce((text, [key, value]) =>
    typeof value === "string" ? text.replaceAll(`[${key}]`, value) : text, node);
  if (Array.isArray(node)) {
    const list = node.length === 1 && typeof node[0] === "string" && words[node[0].slice(1, -1)];
    if (Array.isArray(list)) return list;
    return node.map((one) => filled(one, words));
  }
  if (node && typeof node === "object") return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, filled(value, words)]));
  return node;
}
function look(width) {
  const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(name).trim();
  const [fore, faint, line, back] = ["--fore", "--faint", "--line", "--back"].map(of);
  return { background: back, font: "system-ui, sans-serif", view: { stroke: null },
    axis: { labelColor: fore, titleColor: fore, gridColor: line, domainColor: faint, tickColor: faint, labelFontSize: 12, titleFontSize: 13, titleFontWeight: "normal", labelSeparation: 6 },
    axisXQuantitative: { tickCount: Math.max(3, Math.round(width / 90)) },
    legend: { labelColor: fore, titleColor: fore, labelFontSize: 12, labelLimit: 260 }, rule: { color: faint } };
}
// Gives every legend as many columns as there is room for, and all of its entries.
function withLegends(node, columns) {
  if (!node || typeof node !== "object") return node;
  if (Array.isArray(node)) return node.map((one) => withLegends(one, columns));
  return Object.fromEntries(Object.entries(node).map(([key, value]) =>
    [key, key === "legend" && value ? { ...value, columns, symbolLimit: 0 } : withLegends(value, columns)]));
}
const drawn = window.drawn = {};
async function draw(name, spec, rows, words, description) {
  const place = $(`chart-${name}`);
  if (!place) return;
  const figure = place.parentElement, turn = (drawn[name] = (drawn[name] || 0) + 1);
  if (rows && !rows.length) {
    place.replaceChildren();
    figure.querySelectorAll(".save").forEach((old) => old.remove());
    place.dataset.drawn = turn;
    return;
  }
  const width = place.clientWidth, longest = Math.max(0, ...(words.legend || []).map((text) => text.length));
  const columns = Math.max(1, Math.floor(width / (Math.min(7 * longest, 260) + 50)));
  const whole = { ...filled(withLegends(spec, columns), words), description };
  if (rows) whole.datasets = { rows };
  delete whole.config;
  const { view } = await vegaEmbed(place, whole, { actions: false, renderer: "svg", config: look(width), tooltip: { theme: document.documentElement.dataset.theme === "dark" ? "dark" : "light" } });
  if (turn !== drawn[name]) return;
  figure.querySelectorAll(".save").forEach((old) => old.remove());
  for (const kind of ["svg", "png"]) {
    const save = async () => {
      const link = element("a", { href: await view.toImageURL(kind, 2), download: `${data.title}-${name}.${kind}` });
      link.click();
    };
    figure.append(element("button", { type: "button", class: "save", "data-kind": kind, "aria-label": `Save ${description} as ${kind.toUpperCase()}`, onclick: save }, `Save ${kind.toUpperCase()}`));
  }
  place.dataset.drawn = turn;
}
function contrastWords(first, second, rows) {
  const found = counts(rows), texts = { win: `${labels[first]} wins (${found.win})`, loss: `${labels[second]} wins (${found.loss})`,
    tie: `ties (${found.tie})`, undecided: `undecided (${found.undecided})` };
  return { first: labels[first], second: labels[second], "first colour": colours[first], "second colour": colours[second],
    bars: data.bars, counts: JSON.stringify(texts), shown: rows.map((row) => row.name).reverse(),
    legend: Object.values(texts), outcomes: Object.keys(texts).filter((word) => word !== "undecided" || found.undecided) };
}

// ---- parts of the page
function showWins(sets) {
  const keys = order(), rows = keys.map((row) => element("tr", {}, element("th", { scope: "row" }, labels[row]), ...keys.map((column) => {
    if (row === column) return element("td", {}, "—");
    const found = counts(contrast(row, column, sets)), total = found.win + found.tie + found.loss;
    const pressed = chosen.pair[0] === row && chosen.pair[1] === column;
    const text = total || !found.undecided ? String(found.win) : "undecided";
    const shade = Math.round((100 * 0.45 * found.win) / Math.max(total + found.undecided, 1));
    const button = element("button", { type: "button", "aria-pressed": String(pressed), title: told(found), "data-pair": `${row}|${column}`,
      style: `background: color-mix(in srgb, ${colours[row]} ${shade}%, var(--field))`,
      "aria-label": `${labels[row]} against ${labels[column]}: ${told(found)}; show the contrast`,
      onclick: () => { chosen.pair = [row, column]; show(); $("win-table").querySelector('[aria-pressed="true"]')?.focus(); } }, text);
    return element("td", {}, button);
  })));
  $("win-table").replaceChildren(element("caption", {}, `Datasets, of ${sets.size}, on which the row beats the column`), element("thead", {}, element("tr", {}, element("td", {}, "row beats column"), ...keys.map((key) => element("th", { scope: "col" }, labels[key])))), element("tbody", {}, ...rows));
}
function showContrast(sets) {
  const [first, second] = chosen.pair, rows = contrast(first, second, sets);
  $("contrast-name").textContent = `${labels[first]} against ${labels[second]}`;
  $("contrast-counts").textContent = `${told(counts(rows))} on ${numbered(rows.length)}`;
  for (const [id, key] of [["first", first], ["second", second]]) options($(id), data.learners.map((one) => [one.key, one.label]), key);
  const few = rows.length <= data.few;
  $("contrast-scale").textContent = few ? "" : "The scale is linear to ±0.01 and logarithmic beyond.";
  const spec = few ? { ...data.charts.contrast_few, height: 22 * rows.length } : data.charts.contrast;
  draw("contrast", spec, rows, contrastWords(first, second, rows),
    `the contrast of ${labels[first]} and ${labels[second]}`);
}
function showMeans(sets) {
  const head = ["learner", "mean reward", `difference to ${labels[chosen.baseline]}`, "SE of the difference", "wins, ties, losses", "datasets"];
  const rows = order().map((key) => {
    const own = data.rewards[key], values = own.set.flatMap((place, at) => (sets.has(place) ? [own.mean[at]] : []));
    const rows = key === chosen.baseline ? [] : contrast(key, chosen.baseline, sets), found = counts(rows);
    const differences = rows.map((row) => row.mean);
    const cells = [values.length ? fixed(mean(values)) : "", differences.length ? fixed(mean(differences), 4, "+") : "", fixed(standardError(differences)),
      differences.length ? told(found) : "", String(values.length)];
    return element("tr", { "data-learner": key }, element("th", { scope: "row" }, labels[key]), ...cells.map((cell) => element("td", {}, cell)));
  });
  $("mean-table").replaceChildren(element("caption", {}, `Mean rewards on ${numbered(sets.size)}`), element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...rows));
}
function showRewards(sets) {
  const keys = order(), reward = {};
  for (const key of keys) data.rewards[key].set.forEach((place, at) => { (reward[place] ||= {})[key] = [data.rewards[key].mean[at], data.rewards[key].se[at]]; });
  const [first, second] = chosen.pair, difference = Object.fromEntries(contrast(first, second, sets).map((row) => [row.place, row.mean]));
  const columns = [["name", "dataset"], ["steps", "interactions"], ["classes", "classes"], ...keys.map((key) => [key, labels[key]]), ["difference", `${labels[first]} − ${labels[second]}`]];
  const value = (place, key) => key === "difference" ? difference[place] : key in labels ? reward[place]?.[key]?.[0] : data.datasets[place][key];
  const { key, down } = chosen.sort, missing = (one) => one === undefined || one === null;
  const places = [...sets].sort((one, other) => {
    const [a, b] = [value(one, key), value(other, key)];
    if (missing(a) || missing(b)) return missing(a) - missing(b);
    return (a < b ? -1 : a > b ? 1 : one - other) * (down ? -1 : 1);
  });
  const head = columns.map(([id, text]) => element("th", { scope: "col", "aria-sort": id === key ? (down ? "descending" : "ascending") : "none" },
    element("button", { type: "button", "data-sort": id, onclick: () => { chosen.sort = { key: id, down: id === key ? !down : id !== "name" }; showRewards(datasets()); $("reward-table").querySelector(`[data-sort="${CSS.escape(id)}"]`).focus(); } }, text + (id === key ? (down ? " ▾" : " ▴") : ""))));
  const rows = places.map((place) => element("tr", { "data-set": data.datasets[place].dataset }, ...columns.map(([id]) => {
    if (id in labels) {
      const known = reward[place]?.[id];
      return known ? element("td", {}, fixed(known[0]), element("span", { class: "se" }, known[1] === null ? "" : ` ±${fixed(known[1])}`)) : element("td");
    }
    const shown = value(place, id);
    return element("td", {}, missing(shown) ? "" : id === "difference" ? fixed(shown, 4, "+") : typeof shown === "number" ? shown.toLocaleString("en") : shown);
  })));
  $("reward-table").replaceChildren(element("caption", {}, `Mean rewards on each of ${numbered(sets.size)} ± their standard errors over seeds`), element("thead", {}, element("tr", {}, ...head)), element("tbody", {}, ...rows));
}
function showCurves(sets) {
  const all = order().filter((key) => data.curves[key]), steps = data.curves.steps, many = all.length > data.many;
  const keys = many ? all.filter((key) => key === chosen.baseline || chosen.pair.includes(key)) : all;
  const whole = [...sets].filter((place) => keys.every((key) => data.curves[key][place]));
  if (chosen.curve !== "" && !whole.includes(Number(chosen.curve))) chosen.curve = "";
  options($("curve-set"), [["", `mean of ${numbered(whole.length)}`], ...whole.map((place) => [String(place), data.datasets[place].name])], chosen.curve);
  const places = chosen.curve === "" ? whole : [Number(chosen.curve)];
  const rows = places.length ? keys.flatMap((key) => steps.map((step, at) => {
    const values = places.map((place) => data.curves[key][place][at]), reward = mean(values), se = standardError(values);
    const band = keys.length <= BANDS ? se || 0 : 0;
    return { learner: labels[key], step, reward, se, low: reward - band, high: reward + band, datasets: places.length };
  })) : [];
  $("curve-note").textContent = places.length > 1 ? `Datasets that have ${steps.at(-1).toLocaleString("en")} interactions with every chosen learner${keys.length <= BANDS ? "; bands: 1 SE over datasets" : `. Bands of 1 SE are shown of up to ${BANDS} learners`}.`
    : places.length ? "The mean over seeds of one dataset." : "None of the chosen datasets has a curve of every chosen learner.";
  if (many) $("curve-note").textContent += ` Of ${all.length} learners, the baseline and those of the contrast are drawn; choose at most ${data.many} above to see them all.`;
  const shown = keys.map((key) => labels[key]);
  draw("curves", data.charts.curves, rows, { shown, legend: shown }, "the curves of progressive reward");
}
function showBudgets(sets) {
  if (!data.budgets.length) return;
  const rows = data.budgets.flatMap(({ line, members }, place) => members.filter((one) => chosen.learners.has(one.learner)).map((one) => {
    const own = data.rewards[one.learner].set.filter((number) => sets.has(number));
    const losses = one.learner === one.reference ? own.map(() => 0) : contrast(one.reference, one.learner, sets).map((row) => row.mean);
    const versus = contrast(one.learner, chosen.baseline, sets), found = counts(versus);
    const loss = losses.length ? mean(losses) : null, se = standardError(losses);
    return { ...one, line, label: labels[one.learner], percent: 100 * one.share * data.beside ** place, loss, se, low: loss - (se || 0), high: loss + (se || 0),
      datasets: losses.length, wins: found.win, ties: found.tie, losses: found.loss, undecided: found.undecided, versus: versus.length };
  })).filter((row) => row.datasets);
  const head = ["learner", "budget", "share of memory", "loss of reward", "its SE", "datasets", `against ${labels[chosen.baseline]}`];
  const lines = rows.map((row) => element("tr", { "data-learner": row.learner }, element("th", { scope: "row" }, row.label), ...[row.budget.toLocaleString("en"),
    `${Number((100 * row.share).toPrecision(3))}%`, fixed(row.loss), fixed(row.se), String(row.datasets), row.versus ? told(counts(contrast(row.learner, chosen.baseline, sets))) : ""].map((cell) => element("td", {}, cell))));
  $("budget-table").replaceChildren(element("caption", {}, "What each budget costs, on the chosen datasets"), element("thead", {}, element("tr", {}, ...head.map((text) => element("th", { scope: "col" }, text)))), element("tbody", {}, ...lines));
  $("budget-note").textContent = `On how many datasets the budget beats ${labels[chosen.baseline]} (solid), and loses to it (dotted).`;
  const legend = data.budgets.map(({ line }) => line);
  draw("budgets", data.charts.budgets, rows, { legend }, "the loss of reward of each budget");
  draw("budget_wins", data.charts.budget_wins, rows, { legend }, `the wins of each budget against ${labels[chosen.baseline]}`);
}
function macroF1(truth, guess) {
  const scores = [0, 1].map((word) => {
    const hits = truth.filter((one, at) => one === word && guess[at] === word).length;
    const total = truth.filter((one) => one === word).length + guess.filter((one) => one === word).length;
    return total ? (2 * hits) / total : 0;
  });
  return mean(scores);
}
function showForest(sets) {
  if (!$("forest-note")) return;
  const at = data.meta.set.flatMap((place, number) => (sets.has(place) ? [number] : [])), pick = (list) => at.map((number) => list[number]);
  const truth = pick(data.meta.truth), wins = truth.filter((one) => one).length;
  const scores = Object.entries(data.meta.held_out).map(([name, repeats]) => `${name} ${mean(repeats.map((guess) => macroF1(truth, pick(guess)))).toFixed(3)}`);
  $("forest-note").textContent = wins && wins < truth.length
    ? `On the ${truth.length} chosen datasets, of which EMT wins ${wins}, the macro F1 of the same predictions is: ${scores.join(", ")}.`
    : `The ${truth.length} chosen datasets are all of one class (EMT wins ${wins}): there is no F1 to speak of.`;
}
function showFeature(sets) {
  if (!$("feature") || !("emt" in labels) || !("parametric" in labels)) return;
  const feature = $("feature").value, value = Object.fromEntries(data.meta.set.map((place, at) => [place, data.meta[feature][at]]));
  const rows = contrast("emt", "parametric", sets).filter((row) => typeof value[row.place] === "number").map((row) => ({ ...row, value: value[row.place] }));
  draw("feature", data.charts.feature, rows, { ...contrastWords("emt", "parametric", rows), feature: data.features[feature] }, `the contrast over ${data.features[feature]}`);
}
function show() {
  const sets = datasets();
  $("count").textContent = `${sets.size} of ${data.datasets.length} datasets, ${chosen.learners.size} of ${data.learners.length} learners`;
  for (const part of [showWins, showContrast, showMeans, showRewards, showCurves, showBudgets, showForest, showFeature]) part(sets);
}
function showFixed() {
  for (const [name, spec] of Object.entries(data.charts)) {
    const legend = (spec.layer?.at(-1) || spec).encoding.color?.scale?.domain;
    if (name === "importances" || name.startsWith("sweep_")) draw(name, spec, null, { legend }, `the chart of ${name.replaceAll("_", " ")}`);
  }
}
function start() {
  const other = data.learners.map((one) => one.key).find((key) => key !== data.baseline) || data.baseline;
  const reset = () => {
    Object.assign(chosen, { words: {}, search: "", learners: new Set(data.learners.map((one) => one.key)), baseline: data.baseline, curve: "" });
    show();
  };
  chosen.pair = [other, data.baseline];
  const names = { family: "Family", columns: "Columns", actions: "Classes", group: "Group" };
  for (const word of data.words) {
    const values = [...new Set(data.datasets.map((one) => one[word]))].sort();
    const select = element("select", { id: `filter-${word}`, onchange: (event) => { chosen.words[word] = event.target.value; show(); } });
    options(select, [["", "all"], ...values.map((value) => [value, `${value} (${data.datasets.filter((one) => one[word] === value).length})`])], "");
    $("filters").append(element("label", {}, names[word], select));
  }
  for (const one of data.learners) {
    const box = element("input", { type: "checkbox", checked: true, value: one.key, onchange: (event) => {
      chosen.learners[event.target.checked ? "add" : "delete"](one.key);
      show();
    } });
    $("learners").append(element("label", {}, box, element("span", { class: "swatch", style: `background: ${one.colour}` }), one.label));
  }
  options($("baseline"), data.learners.map((one) => [one.key, one.label]), data.baseline);
  $("baseline").addEventListener("change", (event) => { chosen.baseline = event.target.value; show(); });
  $("search").addEventListener("input", (event) => { chosen.search = event.target.value; show(); });
  $("choice").addEventListener("submit", (event) => event.preventDefault());
  $("choice").addEventListener("reset", () => setTimeout(reset));
  $("curve-set").addEventListener("change", (event) => { chosen.curve = event.target.value; showCurves(datasets()); });
  ["first", "second"].forEach((id, at) => $(id).addEventListener("change", (event) => {
    if (event.target.value !== chosen.pair[1 - at]) chosen.pair[at] = event.target.value;
    show();
  }));
  $("feature")?.addEventListener("change", () => showFeature(datasets()));
  if (matchMedia("(max-width: 40rem)").matches) $("choice").querySelector("details").open = false;
  show();
}
function theme(dark) {
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  $("theme").textContent = dark ? "Light" : "Dark";
  $("theme").setAttribute("aria-pressed", String(dark));
}
theme(matchMedia("(prefers-color-scheme: dark)").matches);
$("theme").addEventListener("click", () => {
  theme(document.documentElement.dataset.theme !== "dark");
  if (data.datasets.length) show();
  showFixed();
});
if (data.datasets.length) start();
showFixed();
