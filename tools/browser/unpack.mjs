// Unpacks Chromium into $TMPDIR/chromium.
import chromium from "@sparticuz/chromium";

console.log(await chromium.executablePath());
