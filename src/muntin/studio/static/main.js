// Puts the page together.

import { ask } from './api.js';
import { $, copy } from './dom.js';
import { begin as beginForm } from './form.js';
import { begin as beginManager, watch } from './manager.js';
import { goToPlace, later, now, save } from './plan.js';
import { showSparkPlan } from './spark.js';
import { tabs } from './tabs.js';

const mode = () => (inputs.chosen() === 'tab-sql' ? 'sql' : 'form');
const views = tabs($('views'));
let ready = false;
const inputs = tabs($('inputs'), () => { if (ready) now(mode()); });
const pages = tabs($('pages'), (id) => watch(id === 'tab-manager'));

function typing(target) {
  return target.closest('input, textarea, select, [contenteditable]') !== null;
}

function keys(event) {
  if (event.key === 'Enter' && (event.ctrlKey || event.metaKey) && pages.chosen() === 'tab-plan') {
    event.preventDefault();
    if (views.chosen() === 'tab-spark') showSparkPlan(mode());
    else now(mode());
  } else if (event.altKey && /^Digit[1-7]$/.test(event.code) && pages.chosen() === 'tab-plan' && !$('answer').hidden) {
    event.preventDefault();
    views.choose(views.ids[Number(event.code.slice(-1)) - 1], true);
  } else if (event.key === '?' && !typing(event.target) && !$('help').open) {
    event.preventDefault();
    $('help').showModal();
  }
}

async function start() {
  views.choose('tab-graph');
  let about;
  try {
    about = await ask('/api/about');
  } catch (error) {
    $('locked').textContent = error.status === 401
      ? 'This page has no token: open the address that muntin studio printed when it started, with all that follows token=.'
      : error.message;
    $('locked').hidden = false;
    document.querySelector('main').hidden = true;
    return;
  }
  const kept = beginForm(about.optimizers, () => later(mode()));
  beginManager(about.manager);
  inputs.choose(kept === 'sql' ? 'tab-sql' : 'tab-form');
  pages.choose('tab-plan');
  $('error-place').addEventListener('click', goToPlace);
  $('save').addEventListener('click', () => save(mode()));
  $('spark').addEventListener('click', () => showSparkPlan(mode()));
  $('help-button').addEventListener('click', () => $('help').showModal());
  for (const button of document.querySelectorAll('.copy')) {
    button.addEventListener('click', () => copy($(button.dataset.from).textContent, button));
  }
  document.addEventListener('keydown', keys);
  ready = true;
  now(mode());
}

start();
