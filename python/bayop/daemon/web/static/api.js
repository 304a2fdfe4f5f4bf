// Requests to the daemon. A token, where one is needed, goes into a header and stays in this tab.

const KEY = "bayop-token";

export const token = () => sessionStorage.getItem(KEY);
export const keepToken = (text) => (text ? sessionStorage.setItem(KEY, text) : sessionStorage.removeItem(KEY));

export const headers = () => (token() ? { Authorization: `Bearer ${token()}` } : {});

export class Refused extends Error {
  constructor(status, { wrong, rule, hint } = {}) {
    super([wrong, rule, hint].filter(Boolean).join("; ") || `status ${status}`);
    this.status = status;
  }
}

async function ask(path, method) {
  const answer = await fetch(path, { method, headers: headers() });
  if (answer.status === 204) return null;
  const body = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Refused(answer.status, body.error);
  return body;
}

const of = (name, rest) => `/api/services/${encodeURIComponent(name)}${rest ? `/${rest}` : ""}`;

export const services = () => ask("/api/services", "GET");
export const service = (name) => ask(of(name), "GET");
export const map = (name) => ask(of(name, "map"), "GET");
/** Says a word of an operator to a service, or to all of them where `name` is null. */
export const act = (name, word) => ask(name === null ? `/api/${word}` : of(name, word), "POST");
