# SPDX-License-Identifier: GPL-2.0-or-later
"""Reports in a real browser: they render, say nothing on the console, fit a phone and a desktop, can be read by everyone."""
import shutil

import browser
import pytest
from campaigns import Builder, unmap_inaccessible
from exact_campaigns import lazy_tlb, write

from analysis.cli import main

pytestmark = pytest.mark.slow      # a browser takes its time to start

HOSTILE = '<script>document.title="owned"</script><img src=x onerror="document.title=\'owned\'">"\'>&$x^2$\x1b[31m'


def hostile_campaign():
    """Every name from outside tries to become markup."""
    suite = {"suite": HOSTILE, "summary": HOSTILE, "margin-percent": 2,
             "derived": [{"name": HOSTILE, "case": HOSTILE, "unit": HOSTILE, "class": "work", "better": "lower", "formula": "a",
                          "terms": {"a": {"key": "proc-vmstat.pgfault"}}}],
             "primary": {"vm": [{"case": HOSTILE, "metric": HOSTILE}, {"case": HOSTILE, "metric": "absent" + HOSTILE}]}}
    series = {"series": HOSTILE, "title": HOSTILE, "summary": HOSTILE, "published": [{"title": HOSTILE, "message-id": HOSTILE}],
              "claims": [{"name": HOSTILE, "published": HOSTILE, "baseline": "a", "candidate": "b", "case": HOSTILE,
                          "metric": HOSTILE, "direction": "decrease", "note": HOSTILE}]}
    b = Builder(blocks=8, suite=suite, series=series)
    b.plan["command"] = ["shootdown", "run", HOSTILE]
    kernels = [b.kernel(v + HOSTILE, HOSTILE, v) for v in "ab"]
    case = b.case(HOSTILE, size=HOSTILE)
    for block in range(8):
        for i, kernel in enumerate(kernels):
            counts = {"proc-vmstat.pgfault": 1000 - 200 * i + block, "proc-vmstat.pgalloc" + HOSTILE: 10 + i}
            histogram = {"tlb_flush": {"unit": HOSTILE, "keys": ["reason", "pages"], "buckets": [[HOSTILE, 1, 5]]}}
            panic = block == 3 and i == 1
            b.boot(block, kernel, {case: [{"counts": counts, "histograms": histogram} for _ in range(3)]},
                   outcome="panic" if panic else "ok", detail=HOSTILE if panic else "",
                   facts={"release": HOSTILE, "console": HOSTILE * 5, HOSTILE: HOSTILE})
    return b


def grid_campaign():
    """Transports x sizes on four kernels: heat maps, and more kernels than fit a phone by chance."""
    names = [(t, s) for t in ("tcp", "udp", "unix", "pipe") for s in (1, 1024, 65536)]
    suite = {"suite": "netperf-grid", "summary": "pairs over transports and sizes", "margin-percent": 2, "derived": [],
             "primary": {"host": [{"case": f"{t}-{s}", "metric": "score"} for t, s in names]}}
    b = Builder(lane="host", accelerator=None, blocks=10, suite=suite)
    kernels = [b.kernel(f"git:/src/linux@v6.{i}") for i in range(4)]
    cases = [b.case(f"{t}-{s}", "ping-pong", 2, None, transport=t, size=s) for t, s in names]
    for block in range(10):
        for i, kernel in enumerate(kernels):
            b.boot(block, kernel, {case: [{"metrics": {"score": b.random.normal(1e5 * (1 - 0.03 * i), 800)}} for _ in range(3)]
                                   for case in cases})
    return b


@pytest.fixture(scope="module")
def driver():
    made, profile = browser.start()
    yield made
    made.quit()
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    folder, made = tmp_path_factory.mktemp("reports"), {}
    for name, build in (("vm", lambda p: unmap_inaccessible().write(p)), ("hostile", lambda p: hostile_campaign().write(p)),
                        ("grid", lambda p: grid_campaign().write(p)), ("exact", lambda p: write(lazy_tlb(cpus=(2, 4, 8)), p))):
        directory = build(folder / name)
        main(["compare", str(directory), "--format", "html"])
        made[name] = directory / "report.html"
    return made


NAMES = ["vm", "hostile", "grid", "exact"]


def show(driver, path, width, dark=False, opened=True):
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": width, "height": 900, "deviceScaleFactor": 1,
                                                                 "mobile": width < 500})
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme",
                                                                        "value": "dark" if dark else "light"}]})
    driver.get(path.as_uri())
    if opened:
        driver.execute_script("for (const d of document.querySelectorAll('details')) d.open = true;")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("width", [375, 768, 1280])
def test_fits_without_sideways_scrolling(driver, reports, name, width):
    show(driver, reports[name], width)
    assert driver.execute_script(browser.OVERFLOW) == []


@pytest.mark.parametrize("name", NAMES)
def test_console_is_silent_and_the_page_is_there(driver, reports, name):
    driver.get_log("browser")
    show(driver, reports[name], 1280)
    assert driver.get_log("browser") == []
    assert driver.execute_script("return document.querySelector('h1').getBoundingClientRect().height") > 10
    assert driver.execute_script("return performance.getEntriesByType('resource').length") == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_contrast(driver, reports, name, dark):
    show(driver, reports[name], 1280, dark)
    assert driver.execute_script(browser.CONTRAST) == []


@pytest.mark.parametrize("name", NAMES)
def test_everything_has_a_name(driver, reports, name):
    show(driver, reports[name], 1280)
    assert driver.execute_script(browser.UNNAMED) == []


@pytest.mark.parametrize("name", NAMES)
def test_text_of_figures_can_be_read_on_a_phone(driver, reports, name):
    show(driver, reports[name], 375)
    assert driver.execute_script(browser.SMALLEST) >= 9


def test_a_hostile_name_does_nothing(driver, reports):
    show(driver, reports["hostile"], 1280)
    assert "owned" not in driver.title.split("<")[0]
    assert driver.execute_script("return document.querySelectorAll('script, img, iframe, object, [onerror]').length") == 0
    assert driver.execute_script("return document.body.innerText.includes('<script>')")


def test_verdict_is_in_the_first_screen(driver, reports):
    show(driver, reports["vm"], 375, opened=False)
    assert driver.execute_script("return document.querySelector('.verdict').getBoundingClientRect().bottom") < 900


@pytest.mark.parametrize("name", NAMES)
def test_prints(driver, reports, name):
    show(driver, reports[name], 1280, opened=False)
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", {"width": 718, "height": 1000, "deviceScaleFactor": 1, "mobile": False})
    fits = driver.execute_script(browser.OVERFLOW)      # the width of an A4 page between its margins
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
    assert fits == []
    printed = driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": False, "paperWidth": 8.27, "paperHeight": 11.69})
    assert len(printed["data"]) > 20000


@pytest.mark.parametrize("script, broken", [
    (browser.CONTRAST, "const p = document.querySelector('h1'); p.style.color = '#aaa'; p.style.background = '#ccc';"),
    (browser.CONTRAST, "document.querySelector('svg text').style.fill = '#eee';"),
    (browser.OVERFLOW, "document.querySelector('h1').style.width = '2000px';"),
    (browser.UNNAMED, "document.querySelector('svg').removeAttribute('aria-label');")])
def test_the_checks_find_what_they_look_for(driver, reports, script, broken):
    show(driver, reports["vm"], 1280)
    driver.execute_script(broken)
    assert driver.execute_script(script) != []
