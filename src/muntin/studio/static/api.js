// Requests to the server that sent this page, with the token that came in its address.

const KEY = 'muntin-studio-token';

// The token leaves the address at once: what is copied or shown from there does not let others in.
function takeToken() {
  const address = new URL(location.href);
  const given = address.searchParams.get('token');
  if (given) {
    sessionStorage.setItem(KEY, given);
    address.searchParams.delete('token');
    history.replaceState(null, '', address);
  }
  return sessionStorage.getItem(KEY) || '';
}

const token = takeToken();

// What the server refuses, in its words; `line` and `column` where it names a place in a query.
export class Refusal extends Error {
  constructor(said, status) {
    super(said.error);
    Object.assign(this, { status, kind: said.kind, line: said.line, column: said.column });
  }
}

export async function ask(path, body = null, signal = undefined) {
  const options = { headers: { Authorization: `Bearer ${token}` }, signal, cache: 'no-store' };
  if (body !== null) Object.assign(options, { method: 'POST', body: JSON.stringify(body) });
  let response;
  try {
    response = await fetch(path, options);
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Refusal({ error: 'The studio does not answer: was it stopped? Start muntin studio again, and open the address that it prints.' }, 0);
  }
  let said;
  try {
    said = await response.json();
  } catch {
    throw new Refusal({ error: `The studio gave an answer that cannot be read (${response.status}).` }, response.status);
  }
  if (!response.ok) throw new Refusal(said, response.status);
  return said;
}
