// The plan: asked for a moment after the last change, shown as it comes, in the order of the questions.

import { ask } from './api.js';
import { $, complain, drawing, make, show, table } from './dom.js';
import { asked, keep } from './form.js';

const WAIT = 180; // milliseconds after the last key
const page = crypto.randomUUID();
let turn = 0;
let timer;
let running = null;
let place = null;
let windows = [];

// The windows of the plan that is shown, as a manager takes them.
export const shownWindows = () => windows;

export function later(mode) {
  clearTimeout(timer);
  timer = setTimeout(() => now(mode), WAIT);
}

export async function now(mode) {
  clearTimeout(timer);
  keep(mode);
  turn += 1;
  const mine = turn;
  if (running) running.abort();
  running = new AbortController();
  const { signal } = running;
  const question = { ...asked(mode), page, turn: mine };
  const began = performance.now();
  $('answer').classList.add('stale');
  try {
    const found = await ask('/api/plan', question, signal);
    // An answer that comes after a later question is of no use to anybody.
    if (mine !== turn || found.stale) return;
    draw(found);
    fail(null);
    $('answer').classList.remove('stale');
    $('said').textContent = `Planned in ${Math.round(performance.now() - began)} ms`;
    const compared = await ask('/api/costs', question, signal);
    if (mine === turn && !compared.stale) bars(compared.costs);
  } catch (error) {
    if (error.name !== 'AbortError' && mine === turn) fail(error, mode);
  }
}

function fail(error, mode = '') {
  complain($('error'), error ? error.message : '');
  place = error && error.line && mode === 'sql' ? error : null;
  $('error-place').hidden = !place;
  if (error) $('said').textContent = '';
}

// Puts the cursor where the query is wrong.
export function goToPlace() {
  if (!place) return;
  const field = $('sql');
  const lines = field.value.split('\n');
  const start = lines.slice(0, place.line - 1).reduce((sum, line) => sum + line.length + 1, 0) + place.column - 1;
  field.focus();
  field.setSelectionRange(start, Math.min(start + 1, field.value.length));
}

function draw(found) {
  $('answer').hidden = false;
  windows = found.windows;
  $('title').textContent = found.title;
  $('figures').textContent = `${found.totals.baseline} → ${found.totals.cost}`;
  $('saving').textContent = found.totals.saving;
  $('proof').textContent = [`optimizer ${found.totals.optimizer}`, found.totals.proof].filter(Boolean).join(', ');
  $('hint').textContent = found.hint;
  $('hint').hidden = !found.hint;
  factors(found.factors);
  graph(found);
  costTables(found);
  bars([]);
  slices(found.slices);
  for (const id of ['explain', 'json', 'code', 'command']) $(id).textContent = found[id];
}

function factors(names) {
  const marks = names.map((name) => make('span', { class: 'mark' }, name));
  const spaced = marks.flatMap((mark, i) => (i ? [' ', mark] : [mark]));
  $('factors').replaceChildren(...(names.length ? ['Factor windows: ', ...spaced] : ['No factor windows']));
}

function graph(found) {
  const read = found.query ? [understood(found.query)] : [];
  const parts = found.groups.map((group) => make('section', {},
    make('h2', {}, group.title), make('p', { class: 'note' }, group.reason),
    make('div', { class: 'pair' }, figure(group.before), figure(group.after))));
  $('view-graph').replaceChildren(...parts, ...read);
}

function figure({ title, note, svg }) {
  return make('figure', {}, make('figcaption', {}, make('b', {}, title), ' ', make('span', { class: 'note' }, note)),
    make('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': title }, drawing(svg)));
}

function understood(query) {
  const rows = [['Dialect', query.dialect], ['Input', query.input], ['Time', query.time], ['Keys', query.keys.join(', ') || 'none'],
    ['Aggregates', query.aggregates.join('; ')]];
  if (query.where) rows.push(['Where', query.where]);
  if (query.having) rows.push(['Having', query.having]);
  return make('section', {}, make('h2', {}, 'As it was read'), table('The query', [['Part', false], ['Reads', false]], rows));
}

function costTables(found) {
  const heads = [['Window', false], ['Id', false], ['Reads from', false], ['Instances', true], ['× reads', true], ['= cost', true], ['Share', true]];
  const parts = found.groups.map((group) => {
    const rows = group.windows.map((w) => [`${'\u00a0'.repeat(4 * Math.min(w.depth, 10))}${w.label}`,
      w.factor ? make('span', { class: 'mark' }, 'factor') : w.name, w.reads_from, w.instances, w.reads, w.cost, w.share]);
    return make('section', {}, make('h2', {}, group.title), table('What each window reads over the period', heads, rows));
  });
  $('cost-tables').replaceChildren(...parts);
}

function bars(costs) {
  const rows = costs.map(({ name, cost, share, chosen }) => {
    const fill = make('span', { class: 'fill' });
    fill.style.width = `${(share || 0) * 100}%`;
    return make('div', { role: 'listitem', class: chosen ? 'chosen' : null }, make('span', {}, name),
      make('span', { class: 'track', 'aria-hidden': 'true' }, ...(share === null ? [] : [fill])), make('span', { class: 'n' }, cost));
  });
  $('costs').replaceChildren(...(rows.length ? rows : [make('span', { class: 'note' }, 'comparing …')]));
}

function slices(found) {
  const ends = found.closed === 'right' ? 'Windows are (start, end], as Azure has them.' : 'Windows are [start, end).';
  $('slices-note').textContent = `Shown is ${found.caption} ${ends} Dashed are the factor windows of the plan.`;
  show($('slices'), found.svg);
  const heads = [['Slices', false], [`in ${found.period}`, true], ...found.windows.map((w) => [`per ${w}`, true])];
  const rows = found.kinds.map((kind) => [kind.kind, kind.per_period, ...kind.per_window]);
  $('slices-table').replaceChildren(table('Slices in a period, and per interval of a window on average', heads, rows));
}

export async function save(mode) {
  const form = $('form-of-file').value;
  const name = { svg: 'plan.svg', html: 'plan.html', json: 'plan.json', text: 'plan.txt', mermaid: 'plan.mmd' }[form];
  try {
    const { text } = await ask('/api/save', { ...asked(mode), form });
    const address = URL.createObjectURL(new Blob([text], { type: 'application/octet-stream' }));
    make('a', { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10_000);
    $('said').textContent = `Saved as ${name}`;
  } catch (error) {
    fail(error, mode);
  }
}
