// What happens, as Server-Sent Events; by fetch, because an EventSource sends no header with a token.

import { headers, Refused } from "/api.js";

const FIRST_REST_MS = 500, LONGEST_REST_MS = 10000, SILENCE_MS = 40000;

/** Listens for ever: `heard(word)` for each word, `state("live" | "lost" | "refused")` when that changes. */
export async function listen(heard, state) {
  let last = null, rest = FIRST_REST_MS;
  for (;;) {
    try {
      for await (const word of words(last)) {
        if (word.event === "hello") state("live");
        if (word.id) last = word.id;
        rest = FIRST_REST_MS;
        heard(word.event, word.data);
      }
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return state("refused");
    }
    state("lost");
    await new Promise((done) => setTimeout(done, rest));
    rest = Math.min(2 * rest, LONGEST_REST_MS);
  }
}

async function* words(last) {
  const quiet = new AbortController();
  let alarm = setTimeout(() => quiet.abort(), SILENCE_MS);
  const since = last == null ? {} : { "Last-Event-ID": last };
  try {
    const answer = await fetch("/api/stream", { headers: { ...headers(), ...since }, signal: quiet.signal });
    if (!answer.ok) throw new Refused(answer.status);
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      clearTimeout(alarm);
      alarm = setTimeout(() => quiet.abort(), SILENCE_MS);
      const parts = (text + value).split("\n\n");
      text = parts.pop();
      for (const part of parts) if (part.startsWith("id:")) yield word(part);
    }
  } finally {
    clearTimeout(alarm);
    quiet.abort();
  }
}

function word(text) {
  const lines = text.split("\n").map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 2)]);
  const fields = Object.fromEntries(lines);
  return { id: fields.id, event: fields.event, data: JSON.parse(fields.data) };
}
