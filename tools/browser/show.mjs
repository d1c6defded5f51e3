// show.mjs URL DIRECTORY: opens a page in Chromium at the widths of a desktop and of a phone, and prints one line of JSON for each:
// what the page shows, its errors, and whether it is wider than the window. It writes a screenshot WIDTH.png of each.
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import chromium from "@sparticuz/chromium";
import puppeteer from "puppeteer-core";

const [url, directory] = process.argv.slice(2);
const program = join(dirname(fileURLToPath(import.meta.url)), "chromium");
const args = chromium.args.filter((a) => a !== "--disable-web-security" && a !== "--allow-running-insecure-content");
const browser = await puppeteer.launch({ args, executablePath: program, headless: "shell" });
try {
  for (const [width, height] of [
    [1440, 1000],
    [390, 844],
  ]) {
    const page = await browser.newPage();
    await page.setViewport({ width, height });
    const errors = [];
    page.on("pageerror", (e) => errors.push(String(e)));
    page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
    const others = [];
    page.on("request", (r) => new URL(r.url()).host !== new URL(url).host && !r.url().startsWith("data:") && others.push(r.url()));
    await page.goto(url, { waitUntil: "domcontentloaded", timeout: 60000 });
    await page.waitForSelector(".engine figure svg path", { timeout: 60000 });
    const shown = await page.evaluate(() => ({
      state: document.getElementById("state").textContent,
      text: document.body.innerText,
      charts: document.querySelectorAll("figure").length,
      wide: document.documentElement.scrollWidth > window.innerWidth,
    }));
    await page.screenshot({ path: join(directory, width + ".png"), fullPage: true });
    console.log(JSON.stringify({ width, errors, others, ...shown }));
    await page.close();
  }
} finally {
  await browser.close();
}
