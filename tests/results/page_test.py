#!/usr/bin/env python3
"""Does the page of `pinfold report` work in a browser, in light and dark, wide and narrow?

  page_test.py PROGRAM [SCREENSHOTS]

Drives Debian's Chromium by Playwright: no message on its console, no request, no breach of the page's
Content-Security-Policy; every chart has data; hovering, keys and dragging do what the page says. With a
folder SCREENSHOTS it leaves pictures there.
"""

import json
import pathlib
import re
import shutil
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from environment import conversation, need, skip  # noqa: E402
from program import ROOT, Suite  # noqa: E402

need("playwright")
CHROMIUM = shutil.which("chromium")
if not CHROMIUM:
    skip("no chromium")
from playwright.sync_api import sync_playwright  # noqa: E402

PRESSURE = ["--set", "engine.num_blocks=900", "--set", "cost.step_base_us=60000", "--goodput", "ttft:5000", "e2el:60000"]
EVERYTHING = ["--config", ROOT / "configs/runs/everything.json", "--set", "workload.time_scale=0.3"]
ALWAYS = {"tiles", "overview", "focus", "ledger", "requests", "fragmentation", "cdf-ttft", "cdf-tpot", "cdf-itl", "cdf-e2el",
          "cdf-queue", "waits", "waterfall", "copies"}
UNDER_PRESSURE = ALWAYS | {"preemptions", "victims"}

# One above the other, each with its own scale.
STACKED = {"requests": {"running", "waiting"}, "fragmentation": {"in_flight", "tail_slack"}, "copies": {"parked"},
           "slots": {"state_slots", "draft_slots"}}

# Distinct colours in a canvas: an empty one has one or two.
COLOURS = """canvas => {
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]);
  return seen.size;
}"""


def grouped(points):
    """The charts without their parts; a group that lacks a part it always has is not there."""
    names = {name for name in points if name.split("-")[0] not in STACKED}
    for group, parts in STACKED.items():
        if all(f"{group}-{part}" in points for part in parts):
            names.add(group)
    return names


class Page:
    """The report in a browser, and everything that it should not have done."""

    def __init__(self, browser, path, width=1100, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.tab = context.new_page()
        self.trouble = []
        self.tab.on("console", lambda message: self.trouble.append(f"console: {message.text}"))
        self.tab.on("pageerror", lambda error: self.trouble.append(f"error: {error}"))
        self.tab.on("request", lambda request: self.trouble.append(f"request: {request.url[:90]}")
                    if request.url != path.as_uri() and not request.url.startswith("data:") else None)
        self.tab.goto(path.as_uri(), timeout=120000)  # a machine may be busy
        self.tab.wait_for_function("window.pinfold", timeout=30000)
        self.tab.wait_for_timeout(200)
        self.trouble += self.tab.evaluate("pinfold.errors")
        if not self.tab.evaluate("pinfold.ready === true"):
            self.trouble.append("the script did not come to its end")

    def points(self):
        return self.tab.evaluate("Object.fromEntries(Object.entries(pinfold.charts).map(([k, v]) => [k, v.points]))")

    def view(self, chart):
        return self.tab.evaluate(f"pinfold.charts['{chart}'].view()")

    def tip(self):
        tip = self.tab.locator("#tip")
        return tip.inner_text() if tip.is_visible() else ""

    def close(self):
        self.tab.context.close()


def whole(suite, title, browser, path, charts, screenshots):
    """Every width and scheme: nothing wrong, everything drawn, nothing cut off."""
    for width in (1100, 390):
        for scheme in ("light", "dark"):
            page = Page(browser, path, width, scheme)
            name = f"{title}, {width} px, {scheme}"
            suite.check(f"{name}: no trouble", not page.trouble, str(page.trouble[:5]))
            points = page.points()
            suite.check(f"{name}: every chart is there", grouped(points) == charts, str(grouped(points) ^ charts))
            suite.check(f"{name}: every chart has data", all(count > 0 for count in points.values()), str(points))
            suite.check(f"{name}: nothing sticks out at the side",
                        page.tab.evaluate("document.documentElement.scrollWidth") <= width)
            for canvas in ("overview", "focus", "ledger"):
                colours = page.tab.locator(f"#{canvas} canvas").evaluate(COLOURS)
                suite.check(f"{name}: {canvas} is drawn", colours >= 5, str(colours))
            drawn = page.tab.evaluate("[...document.querySelectorAll('.chart canvas')].length")
            suite.check(f"{name}: dygraphs drew its charts", drawn >= 6, str(drawn))
            if screenshots:
                page.tab.screenshot(path=str(screenshots / f"{title}_{width}_{scheme}.png"), full_page=True)
            page.close()


def counts_and_labels(suite, page, lead):
    """What stands above the burst, and the counts below it."""
    tab = page.tab
    title = tab.locator("#focus-title").inner_text()
    span = re.search(r"from [\d,.]+ to [\d,.]+ s", title)
    suite.check("the burst is named from its first preemption to its last, above it and in the words", span and span.group() in lead, title)
    labels = tab.evaluate("pinfold.labels")
    suite.check("ticks say what was lost and has to be computed again", labels and all(
        re.search(r"request \d+ lost [\d,]+ blocks?, [\d,]+ tokens? to recompute$", one["text"]) for one in labels), str(labels))
    suite.check("the worst victim's tick is named", any(one["mine"] and one["text"].startswith("worst ") for one in labels), str(labels))
    # A leader goes down from its label, through every lower line.
    clashes = [(a["text"], b["text"]) for a in labels for b in labels if a is not b and (
        a["line"] == b["line"] and a["left"] < b["left"] + b["wide"] and b["left"] < a["left"] + a["wide"] or
        a["line"] < b["line"] and a["left"] < b["x"] < a["left"] + a["wide"])]
    suite.check("no label lies on another, nor on a leader", not clashes, str(clashes))

    # The pool is free, held and parked blocks: each rounded for itself.
    usable = tab.evaluate("JSON.parse(document.getElementById('data-summary').textContent).blocks.usable")
    canvas = tab.locator("#focus canvas")
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    sums, parked = set(), 0
    for x in range(0, 900, 30):
        tab.mouse.move(box["x"] + 100 + x, box["y"] + box["height"] - 60)
        found = [int(value.replace(",", "")) for value in re.findall(r"(?:held|parked|preemption|free): ([\d,]+)", page.tip())]
        sums.add(sum(found) if len(found) == 4 else page.tip())
        parked += sum(found[1:3])
    suite.check("hovering below the burst counts all blocks", all(isinstance(one, int) and abs(one - usable) <= 2 for one in sums), str(sums))
    suite.check("some of them are parked", parked > 0)


def looking(suite, browser, path, summary):
    page = Page(browser, path)
    tab = page.tab
    victim = tab.evaluate("JSON.parse(document.getElementById('data-requests').textContent).victims[0].request")
    lead = tab.locator("#map-lead").inner_text()
    suite.check("the words above the map name the preemptions and the worst victim",
                f"{summary['preemptions']} preemptions" in lead.replace(",", "") and f"request {victim}" in lead, lead)
    counts_and_labels(suite, page, lead)
    key = tab.locator("#map-key").inner_text()
    suite.check("the key names parked blocks and the victim", "parked" in key and "worst victim" in key, key)

    for name in ("overview", "focus"):
        canvas = tab.locator(f"#{name} canvas")
        canvas.scroll_into_view_if_needed()
        box = canvas.bounding_box()
        owners = set()
        for x in range(8):
            tab.mouse.move(box["x"] + 100 + x * 110, box["y"] + box["height"] / 2 + 7 * x)
            owners.update(re.findall(r"(?:owner: |let go by )(request \d+|nobody)", page.tip()))
        suite.check(f"hovering over the {name} names blocks' owners", any("request" in owner for owner in owners), str(owners))
        suite.check(f"hovering over the {name} names the block and the time",
                    re.match(r"block [\d,]+ at [\d,.]+ s\n", page.tip()) is not None, page.tip())
        tab.mouse.move(2, 2)
        before = page.view(name)
        tab.mouse.move(box["x"] + 300, box["y"] + 120)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 500, box["y"] + 125, steps=4)
        tab.mouse.up()
        after = page.view(name)
        suite.check(f"dragging over the {name} zooms into that time", before["t0"] < after["t0"] < after["t1"] < before["t1"]
                    and (after["y0"], after["y1"]) == (before["y0"], before["y1"]), f"{before} {after}")
        share = (after["t1"] - after["t0"]) / (before["t1"] - before["t0"])
        suite.check(f"by as much as was dragged over the {name}", abs(share - 200 / (box["width"] - 80)) < 0.02, str(share))
        tab.mouse.dblclick(box["x"] + 300, box["y"] + 120)
        everything = page.view(name)
        suite.check(f"a double click on the {name} shows all",
                    everything["t1"] - everything["t0"] >= before["t1"] - before["t0"], str(everything))
        canvas.focus()
        tab.keyboard.press("+")
        closer = page.view(name)
        suite.check(f"+ zooms into the {name}", abs((closer["t1"] - closer["t0"]) * 2 - (everything["t1"] - everything["t0"])) < 1e-6,
                    f"{everything} {closer}")
        tab.keyboard.press("Shift+ArrowRight")
        suite.check(f"Shift and an arrow move along the {name}", page.view(name)["t0"] > closer["t0"])
        tab.keyboard.press("ArrowDown")
        suite.check(f"an arrow names what is under the cursor of the {name}", page.tip().startswith("block "), page.tip())
        tab.keyboard.press("0")
        suite.check(f"0 shows all of the {name}", page.view(name) == everything)
        tab.locator(f"#{name} button").first.click()
        suite.check(f"the button zooms into the {name}", page.view(name)["t1"] - page.view(name)["t0"] < everything["t1"] - everything["t0"])

    chart = tab.locator("#requests .chart").first
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    tab.mouse.move(box["x"] + 500, box["y"] + 40)
    tab.wait_for_timeout(100)
    readout = tab.locator("#requests .readout").first.inner_text()
    suite.check("hovering over lines reads their values", re.search(r"running: \d+", readout), readout)
    before, other = page.view("requests-running"), page.view("copies-parked")
    tab.mouse.move(box["x"] + 300, box["y"] + 40)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 600, box["y"] + 40, steps=5)
    tab.mouse.up()
    tab.wait_for_timeout(200)
    after = page.view("requests-running")
    suite.check("dragging over lines zooms", before[0] < after[0] < after[1] < before[1], f"{before} {after}")
    suite.check("the other charts follow", page.view("copies-parked") == after and other != after, str(page.view("copies-parked")))
    chart.focus()
    tab.keyboard.press("0")
    tab.wait_for_timeout(100)
    suite.check("0 shows all of the lines", page.view("requests-running")[1] - page.view("requests-running")[0] > after[1] - after[0])
    tab.keyboard.press("ArrowRight")
    suite.check("arrows read values from the keyboard", re.search(r"running: \d+", tab.locator("#requests .readout").first.inner_text()))
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_timeout(200)
    suite.check("a change of scheme draws again", tab.locator("#focus canvas").evaluate(COLOURS) >= 5)
    suite.check("all that was no trouble", not page.trouble, str(page.trouble))
    page.close()


def sealed(suite, browser, path):
    text = path.read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1)
    suite.check("the policy lets in only what is named", policy.startswith("default-src 'none'; script-src 'sha256-") and
                "unsafe" not in policy and "http" not in policy, policy)
    suite.check("nothing is loaded from elsewhere", not re.search(r'(?:src|href)\s*=\s*["\']?\s*(?:https?:)?//', text))
    suite.check("the page is under 5 MB", len(text) < 5_000_000, str(len(text)))
    # The policy is really enforced: a page with a script more is a page with trouble.
    spoiled = path.with_name("spoiled.html")
    spoiled.write_text(text.replace("</body>", "<script>window.spoiled = true;</script></body>"))
    page = Page(browser, spoiled)
    suite.check("a script that was put in does not run", page.tab.evaluate("window.spoiled") is None and page.trouble)
    page.close()


def main():
    suite = Suite()
    screenshots = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None
    trace = conversation(suite.scratch, 1200)
    # A name that would end a script element.
    hostile = "a<!--<script>.csv"
    (suite.scratch / hostile).write_bytes((suite.scratch / trace).read_bytes())
    pages = {}
    for title, arguments, source in (("pressure", PRESSURE, trace), ("everything", EVERYTHING, trace), ("calm", [], hostile)):
        ran = suite.run("run", source, *arguments, "-o", title)
        made = suite.run("report", title)
        if "has no chart library" in made.err:
            skip("this build has no chart library (libjs-dygraphs)")
        suite.check(f"{title}: the page is made", ran.status == 0 and made.status == 0, ran.err + made.err)
        pages[title] = suite.scratch / title / "report.html"
    summary = json.loads((suite.scratch / "pressure/summary.json").read_text())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        whole(suite, "pressure", browser, pages["pressure"], UNDER_PRESSURE, screenshots)
        looking(suite, browser, pages["pressure"], summary)
        sealed(suite, browser, pages["pressure"])
        for title, charts in (("everything", UNDER_PRESSURE | {"drafts", "slots"}), ("calm", ALWAYS)):
            page = Page(browser, pages[title])
            suite.check(f"{title}: no trouble", not page.trouble, str(page.trouble[:5]))
            points = page.points()
            suite.check(f"{title}: every chart is there, with data", grouped(points) == charts and all(points.values()),
                        f"{grouped(points) ^ charts} {points}")
            page.close()
        browser.close()
    return suite.finish()


if __name__ == "__main__":
    sys.exit(main())
