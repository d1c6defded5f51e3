// look.mjs BROWSER SITE DIRECTORY [PAGE...]: opens every page of the site in Chromium at the widths of a phone, a tablet and a desktop, and
// fails if one is wider than its window, cuts off code, lacks a picture or logs an error. Screenshots of the pages named go to DIRECTORY.
import { createReadStream, mkdirSync, readdirSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

const WIDTHS = [390, 820, 1440];
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml", ".json": "application/json", ".png": "image/png" };

const [browserDirectory, site, directory, ...shown] = process.argv.slice(2);
const require = createRequire(join(browserDirectory, "show.mjs"));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const [{ default: chromium }, { default: puppeteer }] = [await load("@sparticuz/chromium"), await load("puppeteer-core")];

const pages = readdirSync(site, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.name === "index.html")
  .map((entry) => relative(site, entry.parentPath))
  .sort();

const server = createServer((request, response) => {
  let file = join(site, decodeURIComponent(new URL(request.url, "http://site").pathname));
  if (statSync(file, { throwIfNoEntry: false })?.isDirectory()) file = join(file, "index.html");
  if (!statSync(file, { throwIfNoEntry: false })) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(file)] ?? "application/octet-stream" });
  createReadStream(file).pipe(response);
});
await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
const root = `http://127.0.0.1:${server.address().port}/`;

// faults lists what a page shows wrongly at its width.
function faults() {
  const found = [];
  if (document.documentElement.scrollWidth > innerWidth) found.push(`is ${document.documentElement.scrollWidth} pixels wide`);
  for (const code of document.querySelectorAll(".highlight:not(.language-console):not(.language-text) pre > code"))
    if (code.scrollWidth > code.clientWidth + 1) found.push(`cuts off code: ${code.textContent.slice(0, 60)}`);
  for (const image of document.querySelectorAll("article img")) if (!image.naturalWidth) found.push(`lacks ${image.src}`);
  return found;
}

mkdirSync(directory, { recursive: true });
const browser = await puppeteer.launch({ args: chromium.args, executablePath: join(browserDirectory, "chromium"), headless: "shell" });
const wrong = [];
try {
  const page = await browser.newPage();
  let at = "";
  await page.setRequestInterception(true); // each page would build the index of the search anew
  const none = { config: { lang: ["en"], separator: " ", pipeline: [], fields: {} }, docs: [] };
  page.on("request", (r) => (r.url().endsWith("/search_index.json") ? r.respond({ body: JSON.stringify(none) }) : r.continue()));
  await page.evaluateOnNewDocument(() => localStorage.clear()); // the site keeps the color scheme of the last visit there
  page.on("pageerror", (e) => wrong.push(`${at}: ${e}`));
  for (at of pages) {
    await page.goto(root + at + (at ? "/" : ""), { waitUntil: "load", timeout: 60000 });
    for (const width of WIDTHS) {
      await page.setViewport({ width, height: 900 });
      for (const fault of await page.evaluate(faults)) wrong.push(`${at || "index"} at ${width} pixels ${fault}`);
      if (!shown.includes(at || "index")) continue;
      for (const scheme of ["light", "dark"]) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await page.reload({ waitUntil: "load" });
        await page.screenshot({ path: join(directory, `${(at || "index").replaceAll("/", "-")}-${width}-${scheme}.png`), fullPage: true });
      }
    }
  }
} finally {
  await browser.close();
  server.close();
}
if (wrong.length) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
console.log(`look: ${pages.length} pages fit ${WIDTHS.join(", ")} pixels`);
