# SPDX-License-Identifier: GPL-2.0-or-later
"""A headless Chromium of its own for one test module; skipped with the reason where there is none."""
import shutil
import tempfile

import pytest

FLAGS = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]


def start():
    """(driver, directory of the profile)"""
    binary, driver_binary = shutil.which("chromium"), shutil.which("chromedriver")
    if not binary or not driver_binary:
        pytest.skip("no chromium with chromedriver: install the packages chromium and chromium-driver")
    webdriver = pytest.importorskip("selenium.webdriver", reason="no selenium: install the package python3-selenium")
    from selenium.webdriver.chrome.service import Service
    profile = tempfile.mkdtemp(prefix="shootdown-browser-")
    options = webdriver.ChromeOptions()
    options.binary_location = binary
    for flag in [*FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    return webdriver.Chrome(service=Service(driver_binary), options=options), profile


# Runs in the page: every visible text element whose colour stands out less than WCAG's AA asks (4.5, large text 3).
CONTRAST = """
function parse(c) { const m = c.match(/[\\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; }
function linear(v) { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; }
function luminance(c) { return 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]); }
function over(top, below) { return [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3])); }
function background(e) {
	const layers = [];
	for (let n = e; n; n = n.parentElement) layers.push(parse(getComputedStyle(n).backgroundColor));
	return layers.reduceRight((below, c) => over(c, below), [255, 255, 255]);
}
const bad = [];
for (const e of document.querySelectorAll('body *')) {
	const own = [...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim());
	const box = e.getBoundingClientRect();
	if (!own || !box.width || !box.height) continue;
	const style = getComputedStyle(e), svg = e.namespaceURI.endsWith('svg');
	const colour = parse(svg ? style.fill : style.color), below = background(e);
	const a = luminance(over(colour, below)), b = luminance(below);
	const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
	const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
	if (ratio < (large ? 3 : 4.5)) bad.push(`${e.tagName} "${e.textContent.trim().slice(0, 40)}" ${ratio.toFixed(2)}`);
}
return bad;
"""

# Elements that stick out of the page to the right.
OVERFLOW = """
const width = document.documentElement.clientWidth, bad = [];
if (document.documentElement.scrollWidth > width) bad.push(`page ${document.documentElement.scrollWidth} > ${width}`);
for (const e of document.querySelectorAll('body *:not(svg *)')) {
	const box = e.getBoundingClientRect();
	if (box.width && box.right > width + 1 && getComputedStyle(e).position !== 'absolute')
		bad.push(`${e.tagName}.${e.className.baseVal ?? e.className} ${Math.round(box.right)} > ${width}`);
	if (e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX))
		bad.push(`${e.tagName} scrolls sideways`);
}
return bad;
"""

# Graphics without a text alternative; graphics and table heads that assistive technology could not name.
UNNAMED = """
const bad = [];
for (const e of document.querySelectorAll('img')) if (!e.alt) bad.push('img');
for (const e of document.querySelectorAll('svg'))
	if (e.getAttribute('role') !== 'img' || (e.getAttribute('aria-label') || '').length < 10) bad.push('svg');
for (const e of document.querySelectorAll('th')) if (!e.textContent.trim() || !e.scope) bad.push('th ' + e.textContent);
for (const e of document.querySelectorAll('[id]'))
	if (document.querySelectorAll('[id="' + CSS.escape(e.id) + '"]').length > 1 && !e.closest('defs')) bad.push('id ' + e.id);
if (!document.title || !document.documentElement.lang || document.querySelectorAll('h1').length !== 1) bad.push('title, lang, h1');
return bad;
"""

# Text of figures as it is seen, in CSS pixels: the smallest.
SMALLEST = """
let least = 1e9;
for (const e of document.querySelectorAll('svg text')) {
	const svg = e.ownerSVGElement, scale = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
	if (scale) least = Math.min(least, parseFloat(getComputedStyle(e).fontSize) * scale);
}
return least;
"""
