// What is asked for: a query, or rows of windows, and how to plan. Kept for as long as the tab lives.

import { $, make } from './dom.js';

const KEY = 'muntin-studio-form';
const FIELDS = ['sql', 'aggregates', 'keys', 'optimizer', 'rate', 'unit', 'period', 'schema', 'rows', 'keys-count', 'strategy'];
const PARTS = [['range', '1h'], ['slide', '= range'], ['offset', '0s'], ['id', '']];

const QUERIES = {
  'Azure: three windows': `SELECT DeviceID, System.Window().Id, MIN(T) AS MinTemp
FROM Input TIMESTAMP BY EntryTime
GROUP BY DeviceID, Windows(
    Window('20 min', TumblingWindow(minute, 20)),
    Window('30 min', TumblingWindow(minute, 30)),
    Window('40 min', TumblingWindow(minute, 40)))`,
  'Azure: rolling averages': `SELECT Device, System.Timestamp() AS WindowEnd, AVG(Load) AS Mean, COUNT(*) AS N
FROM Input TIMESTAMP BY Ts
WHERE Load IS NOT NULL
GROUP BY Device, Windows(
    HoppingWindow(minute, 60, 10),
    HoppingWindow(hour, 12, 1),
    HoppingWindow(hour, 24, 1))`,
  'Spark SQL: one window': `SELECT window(ts, '40 minutes', '10 minutes') AS w, device,
       min(temp) AS low, count(*) FILTER (WHERE temp > 30) AS hot
FROM events
GROUP BY window(ts, '40 minutes', '10 minutes'), device`,
};

const SETS = {
  'The paper’s example: 20, 30 and 40 minutes': { windows: ['20m', '30m', '40m'], aggregates: 'min', unit: 'minute' },
  'Dashboard: 5, 10, 30 and 60 minutes': { windows: ['5m', '10m', '30m', '60m'], aggregates: 'n=count(), mean=avg(temp), high=max(temp)', unit: 'minute' },
  'Features: 1, 12 and 24 hours, every ten minutes': { windows: ['1h/10m', '12h/10m', '24h/10m'], aggregates: 'avg(load), max(load)', unit: 'minute' },
  'Nothing in common: 15, 17 and 19': { windows: ['15', '17', '19'], aggregates: 'sum', unit: '' },
  'Ranges that are no multiples of slides': { windows: ['14m/8m', '9m/3m', '25m/10m'], aggregates: 'max', unit: 'minute' },
};

export const HINTS = {
  none: 'every window reads the events',
  mincost: 'windows read each other (Algorithm 1)',
  factor: 'with factor windows (Algorithm 3)',
  exact: 'all candidates, proved optimal where 2 s suffice',
  auto: 'exact while quick, never worse than factor',
};

let changed = () => {};

function addRow(shape = {}, focus = false, after = null) {
  const inputs = PARTS.map(([part, hint]) => make('input', {
    'data-part': part, placeholder: hint, autocomplete: 'off', spellcheck: 'false', 'aria-label': part, value: shape[part] || '',
  }));
  const remove = make('button', { type: 'button', 'aria-label': 'Remove this window', title: 'Remove' }, '×');
  const row = make('tr', {}, ...inputs.map((input) => make('td', {}, input)), make('td', {}, remove));
  remove.addEventListener('click', () => {
    const next = row.nextElementSibling || row.previousElementSibling;
    row.remove();
    if (!next) addRow();
    // Focus stays near: it would otherwise fall back to the top of the page.
    (next ? next.querySelector('button') : $('windows').querySelector('input')).focus();
    number();
    changed();
  });
  for (const input of inputs) {
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      addRow({}, true, row);
    });
  }
  if (after) after.after(row);
  else $('windows').append(row);
  number();
  if (focus) inputs[0].focus();
}

// Names say which row they belong to, for those who cannot see it.
function number() {
  for (const [place, row] of [...$('windows').rows].entries()) {
    for (const input of row.querySelectorAll('input')) input.setAttribute('aria-label', `${input.dataset.part} of window ${place + 1}`);
    row.querySelector('button').setAttribute('aria-label', `Remove window ${place + 1}`);
  }
}

function shapeOf(text) {
  const [body, offset = ''] = text.split('+');
  const [range, slide = ''] = body.split('/');
  return { range, slide, offset };
}

export function setWindows(rows) {
  $('windows').replaceChildren();
  for (const row of rows) addRow(row);
  if (!rows.length) addRow();
}

function windows() {
  return [...$('windows').rows].map((row) => Object.fromEntries(
    [...row.querySelectorAll('input')].map((input) => [input.dataset.part, input.value])));
}

export function asked(mode) {
  const found = { mode };
  for (const id of FIELDS) found[id.replace('-', '_')] = $(id).value;
  found.windows = windows();
  return found;
}

export function keep(mode) {
  const values = Object.fromEntries(FIELDS.map((id) => [id, $(id).value]));
  sessionStorage.setItem(KEY, JSON.stringify({ mode, values, windows: windows() }));
}

function restore() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEY));
    if (!kept) return null;
    for (const [id, value] of Object.entries(kept.values)) $(id).value = value;
    setWindows(kept.windows);
    return kept.mode;
  } catch {
    return null;
  }
}

function followRate() {
  const rate = Number($('rate').value);
  if (rate > 0) $('rate-slider').value = String(Math.log10(rate));
}

function useSet(name) {
  const set = SETS[name];
  setWindows(set.windows.map(shapeOf));
  $('aggregates').value = set.aggregates;
  $('unit').value = set.unit;
}

// Sets the form up, and tells `onChange` of every change; gives the mode that was kept.
export function begin(optimizers, onChange) {
  changed = onChange;
  for (const name of optimizers) $('optimizer').append(make('option', { value: name }, name));
  $('optimizer').value = 'auto';
  $('rate').value = '1';
  for (const [id, known] of [['example', QUERIES], ['set', SETS]]) {
    $(id).append(make('option', { value: '' }, 'choose …'), ...Object.keys(known).map((name) => make('option', { value: name }, name)));
  }
  $('sql').value = Object.values(QUERIES)[0];
  $('keys').value = 'device';
  useSet(Object.keys(SETS)[0]);
  const mode = restore();
  followRate();
  const hint = () => { $('optimizer-hint').textContent = HINTS[$('optimizer').value] || ''; };
  hint();
  $('optimizer').addEventListener('change', hint);
  $('add-window').addEventListener('click', () => { addRow({}, true); });
  $('example').addEventListener('change', () => {
    if ($('example').value) $('sql').value = QUERIES[$('example').value];
    changed();
  });
  $('set').addEventListener('change', () => {
    if ($('set').value) useSet($('set').value);
    changed();
  });
  $('rate-slider').addEventListener('input', () => {
    $('rate').value = String(Number((10 ** Number($('rate-slider').value)).toPrecision(3)));
    changed();
  });
  $('rate').addEventListener('input', followRate);
  $('panel-form').addEventListener('submit', (event) => event.preventDefault());
  for (const place of ['panel-sql', 'panel-form']) $(place).addEventListener('input', () => changed());
  for (const id of ['optimizer', 'rate', 'unit', 'period']) $(id).addEventListener('input', () => changed());
  return mode;
}
