// search.mjs SITE QUERIES: asks the built site's own search, its worker and its index, and fails if a page that QUERIES names is not
// among the first FIRST results. Each line of QUERIES is a query, a tab and the page's path without .md.
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import vm from "node:vm";

const FIRST = 3;
const [SETUP, READY, QUERY] = [0, 1, 2]; // messages of Material's worker

const [site, list] = process.argv.slice(2);
const queries = readFileSync(list, "utf8")
  .split("\n")
  .filter((line) => line && !line.startsWith("#"))
  .map((line) => line.split("\t"));
const index = JSON.parse(readFileSync(join(site, "search/search_index.json"), "utf8"));

// worker returns a function that sends the search worker a message and resolves with its answer.
function worker() {
  const directory = join(site, "assets/javascripts/workers");
  const file = readdirSync(directory).find((name) => /^search\..*\.min\.js$/.test(name));
  let listen, answer;
  const scope = { console, addEventListener: (_, f) => (listen = f), postMessage: (data) => answer(data) };
  scope.self = scope;
  vm.runInNewContext(readFileSync(join(directory, file), "utf8"), scope);
  return (data) =>
    new Promise((resolve) => {
      answer = resolve;
      listen({ data });
    });
}

const ask = worker();
if ((await ask({ type: SETUP, data: { ...index, options: {} } })).type !== READY) throw new Error("the search does not start");

const wrong = [];
for (const [query, page] of queries) {
  const { items } = (await ask({ type: QUERY, data: query })).data;
  const found = items.map((item) => item[0].location.split("#")[0].replace(/\/$/, "") || "index");
  const at = found.indexOf(page);
  if (at < 0 || at >= FIRST) wrong.push(`${query}: ${page} is result ${at < 0 ? "none" : at + 1}; the first are ${found.slice(0, FIRST).join(", ") || "none"}`);
}
if (wrong.length) {
  console.error(wrong.join("\n"));
  console.error(`search: ${wrong.length} of ${queries.length} queries do not find their page among the first ${FIRST} results`);
  process.exit(1);
}
console.log(`search: ${queries.length} queries find their pages`);
