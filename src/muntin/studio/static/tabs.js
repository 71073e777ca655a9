// Tabs as the ARIA practices describe them: one stop for Tab, arrows between them.

import { $ } from './dom.js';

export function tabs(list, onChange = () => {}) {
  const all = [...list.querySelectorAll('[role=tab]')];

  function choose(tab, focus = false) {
    for (const each of all) {
      const chosen = each === tab;
      each.setAttribute('aria-selected', String(chosen));
      each.tabIndex = chosen ? 0 : -1;
      $(each.getAttribute('aria-controls')).hidden = !chosen;
    }
    if (focus) tab.focus();
    onChange(tab.id);
  }

  for (const [place, tab] of all.entries()) {
    tab.type = 'button';
    tab.addEventListener('click', () => choose(tab));
    tab.addEventListener('keydown', (event) => {
      const to = { ArrowRight: place + 1, ArrowLeft: place - 1, Home: 0, End: all.length - 1 }[event.key];
      if (to === undefined) return;
      event.preventDefault();
      choose(all[(to + all.length) % all.length], true);
    });
  }
  return {
    choose: (id, focus) => choose(all.find((tab) => tab.id === id) || all[0], focus),
    chosen: () => all.find((tab) => tab.getAttribute('aria-selected') === 'true').id,
    ids: all.map((tab) => tab.id),
  };
}
