// The manager's queries and their latest rows, asked for while the page is seen.

import { ask } from './api.js';
import { $, complain, make, show } from './dom.js';
import { shownWindows } from './plan.js';

const EVERY = 2000;
const READ = 12_000;
const LOOKS = 120;
const SVG = 'http://www.w3.org/2000/svg';
const paces = [];
let timer;
let seen = false;
let busy = false;
let readUntil = 0;

export function begin(checkpoint) {
  $('manager-none').hidden = Boolean(checkpoint);
  if (!checkpoint) return;
  $('register').addEventListener('submit', (event) => {
    event.preventDefault();
    change('register', { name: $('query-name').value, windows: $('query-windows').value, aggregates: $('query-aggregates').value });
  });
  $('take').addEventListener('click', () => {
    $('query-windows').value = shownWindows().join(', ');
    $('query-windows').focus();
  });
  for (const id of ['column', 'key']) $(id).addEventListener('change', () => look());
  $('manager-explain-box').addEventListener('toggle', explain);
  // Not the dialog's close event: it comes late, and may meet the dialog opened again for another query.
  $('sure').querySelector('form').addEventListener('submit', (event) => {
    if (event.submitter.value === 'yes') change('drop', { name: toDrop });
  });
  document.addEventListener('visibilitychange', () => look());
}

// Looks again and again while the tab of the manager is open, and the page is seen.
export function watch(open) {
  seen = open && $('manager-none').hidden;
  look();
}

async function look() {
  clearTimeout(timer);
  if (!seen || document.hidden) return;
  if (!busy) {
    try {
      const status = await ask('/api/manager/status');
      draw(status);
      await results();
      if (performance.now() > readUntil) complain($('manager-error'), status.failure);
    } catch (error) {
      complain($('manager-error'), error.message);
    }
  }
  clearTimeout(timer);
  timer = setTimeout(look, EVERY);
}

function draw(status) {
  $('manager-some').hidden = false;
  const size = status.state_bytes === null ? '–' : `${(status.state_bytes / 1e6).toFixed(1)} MB`;
  const last = status.pauses_s.at(-1);
  const facts = [['Stream', status.state], ['Queries', String(status.queries.length)], ['Micro-batch', status.batch < 0 ? '–' : grouped(status.batch)],
    ['Watermark', status.watermark ? status.watermark.replace('T', ' ').replace('+00:00', '') : '–'],
    ['Events per second', status.rows_per_second === null ? '–' : grouped(Math.round(status.rows_per_second))],
    ['Open slices', status.slices === null ? '–' : grouped(status.slices)], ['State', size],
    ['Last pause', last === undefined ? '–' : `${last.toFixed(2)} s`]];
  $('facts').replaceChildren(...facts.map(([name, value]) => make('div', {}, make('dt', {}, name), make('dd', {}, value))));
  paces.push(status.rows_per_second || 0);
  if (paces.length > LOOKS) paces.shift();
  pace();
  queries(status.queries);
}

const grouped = (value) => value.toLocaleString('en');

function queries(found) {
  // Rows are only replaced when they differ: a button in focus stays where it is.
  const written = JSON.stringify(found);
  if ($('queries').dataset.written === written) return;
  $('queries').dataset.written = written;
  const focused = document.activeElement && document.activeElement.dataset.change;
  $('queries').replaceChildren(...found.map(row));
  if (!found.length) $('queries').append(make('tr', {}, make('td', { colspan: '5', class: 'note' }, 'none yet: register one below')));
  const again = focused && $('queries').querySelector(`[data-change="${CSS.escape(focused)}"]`);
  if (again) again.focus();
}

function row(query) {
  const since = (w) => `${w.window}${w.id ? ` (${w.id})` : ''}: ${w.since ? `from ${w.since.replace('T', ' ').replace('+00:00', '')}` : 'from the first event'}${w.retained ? ', by retained slices' : ''}`;
  const list = (texts) => make('div', {}, ...texts.map((text) => make('div', {}, text)));
  const action = (verb, label) => make('button', {
    type: 'button', 'data-change': `${verb} ${query.name}`, 'aria-label': `${label} ${query.name}`, class: verb === 'drop' ? 'danger' : null,
    on: { click: () => (verb === 'drop' ? dropSurely(query.name) : change(verb, { name: query.name })) },
  }, label);
  const other = query.activity === 'running' ? action('suspend', 'Suspend') : action('resume', 'Resume');
  return make('tr', {}, make('th', { scope: 'row' }, query.name), make('td', {}, query.activity),
    make('td', {}, list(query.windows.map(since))),
    make('td', {}, list(Object.entries(query.aggregates).map(([name, text]) => `${name} = ${text}`))),
    make('td', {}, make('div', { class: 'actions' }, other, action('drop', 'Drop'))));
}

let toDrop;

function dropSurely(name) {
  toDrop = name;
  $('sure-text').textContent = `${name} gives no more rows. Those that it gave stay.`;
  $('sure').showModal();
}

// One after the other, in the order asked: a change that waits must not be lost. The same one asked twice is one.
const waiting = new Set();
let turn = Promise.resolve();

function change(verb, said) {
  const asked = `${verb} ${said.name}`;
  if (waiting.has(asked)) return;
  waiting.add(asked);
  turn = turn.then(() => carryOut(verb, said)).finally(() => waiting.delete(asked));
}

async function carryOut(verb, said) {
  busy = true;
  $('page-manager').setAttribute('aria-busy', 'true');
  $('manager-said').textContent = `${verb} ${said.name}: after the micro-batch that runs …`;
  complain($('manager-error'), '');
  try {
    $('manager-said').textContent = (await ask(`/api/manager/${verb}`, said)).text;
    if (verb === 'register') $('query-name').value = '';
  } catch (error) {
    $('manager-said').textContent = '';
    complain($('manager-error'), error.message);
    // Looks go on, and must not take it away before it is read.
    readUntil = performance.now() + READ;
  } finally {
    busy = false;
    $('page-manager').removeAttribute('aria-busy');
  }
  look();
}

async function results() {
  const found = await ask('/api/manager/results', { column: $('column').value, key: $('key').value });
  options($('column'), found.columns, found.column);
  options($('key'), found.keys, found.key);
  $('results-note').textContent = found.note || `${found.rows} values, each at the end of its window, in UTC`;
  show($('results'), found.svg);
}

function options(select, values, chosen) {
  const same = select.options.length === values.length && values.every((value, i) => select.options[i].value === value);
  if (!same) select.replaceChildren(...values.map((value) => make('option', { value }, value || '(no key)')));
  if (select.value !== chosen) select.value = chosen;
}

async function explain() {
  if (!$('manager-explain-box').open) return;
  try {
    $('manager-explain').textContent = (await ask('/api/manager/explain')).text;
  } catch (error) {
    $('manager-explain').textContent = error.message;
  }
}

function pace() {
  const [width, height] = [600, 90];
  const most = Math.max(...paces, 1);
  const step = width / (LOOKS - 1);
  const points = paces.map((value, i) => `${(i * step).toFixed(1)} ${(height - (height * value) / most).toFixed(1)}`);
  const svg = document.createElementNS(SVG, 'svg');
  const attributes = { class: 'mu-draw', role: 'img', viewBox: `-4 -16 ${width + 8} ${height + 22}`, width: width + 8, height: height + 22 };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  svg.setAttribute('aria-label', `Events per second: now ${grouped(Math.round(paces.at(-1)))}, at most ${grouped(Math.round(most))}`);
  const base = document.createElementNS(SVG, 'path');
  base.setAttribute('class', 'mu-arc');
  base.setAttribute('d', `M0 ${height}H${width}M0 0H${width}`);
  const line = document.createElementNS(SVG, 'path');
  line.setAttribute('class', 'mu-line mu-line-0');
  line.setAttribute('d', `M${points.join('L')}`);
  const text = document.createElementNS(SVG, 'text');
  text.setAttribute('class', 'mu-small');
  text.setAttribute('x', '0');
  text.setAttribute('y', '-4');
  text.textContent = `${grouped(Math.round(most))} a second`;
  svg.append(base, line, text);
  $('pace').replaceChildren(svg);
}
