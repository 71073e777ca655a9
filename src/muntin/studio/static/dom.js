// Small pieces of the page. Text is only ever set as text; drawings are parsed as SVG, never as HTML.

export const $ = (id) => document.getElementById(id);

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'on') for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
}

export function drawing(text) {
  const parsed = new DOMParser().parseFromString(text, 'image/svg+xml').documentElement;
  return document.importNode(parsed, true);
}

// Shows a drawing in a place that scrolls, and keeps where it was scrolled to.
export function show(place, svg) {
  const { scrollLeft, scrollTop } = place;
  place.replaceChildren(...(svg ? [drawing(svg)] : []));
  place.scrollTo(scrollLeft, scrollTop);
}

export function table(caption, heads, rows) {
  const cell = (tag, content, extra) => make(tag, extra, content);
  const head = heads.map(([text, numeric]) => cell('th', text, { scope: 'col', class: numeric ? 'n' : null }));
  const body = rows.map((row) => make('tr', {}, ...row.map((content, place) => (place === 0
    ? cell('th', content, { scope: 'row' })
    : cell('td', content, { class: heads[place][1] ? 'n' : null })))));
  return make('div', { class: 'scroll', tabindex: '0', role: 'group', 'aria-label': caption },
    make('table', {}, make('caption', {}, caption), make('thead', {}, make('tr', {}, ...head)), make('tbody', {}, ...body)));
}

export function complain(box, message) {
  // The first line says what is wrong; the lines below it, if any, show the place, and must not be broken.
  const [first, ...place] = (message || '').split('\n');
  box.hidden = !message;
  box.querySelector('p').textContent = first;
  box.querySelector('pre').textContent = place.join('\n');
  box.querySelector('pre').hidden = !place.length;
}

export async function copy(text, button) {
  const before = button.textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = 'Copied';
  } catch {
    button.textContent = 'The browser does not let pages copy';
  }
  setTimeout(() => { button.textContent = before; }, 1500);
}
