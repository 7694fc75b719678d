# SPDX-License-Identifier: Apache-2.0
"""browser.py CHROMIUM WRITE_SAMPLE_PAGES FOLDER: looks at reports in a real browser.

Writes a page of each kind of run into FOLDER and loads them at the width of a desk and of a phone. A copy of each page
carries browser_check.js, which tells what it finds to the page around it; the browser prints that page. Checked are:
no error in the console, every chart visible and drawn with finite numbers, no label upon another, nothing wider than
the page, readouts, sorting and links at work, pictures not blank, light unlike dark, a print of more than one page; and
that the page as written runs its script under its own content security policy, and no other.
"""
import html
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import zlib

HERE = pathlib.Path(__file__).resolve().parent
WIDE, NARROW = 1200, 360
# What each page must show: (kind of run, widths, kinds of charts with how many at least)
PAGES = (
    ("whole", (WIDE, NARROW), {"progress": 3, "ranking": 1, "task": 4, "stack": 1, "spark": 10, "flow": 1, "tries": 3}),
    ("network", (WIDE, NARROW), {"flow": 1, "bar": 6}),
    ("two_models", (WIDE, NARROW), {"progress": 6, "ranking": 1, "task": 6, "stack": 1, "spark": 12}),
    ("cut_off", (NARROW,), {"progress": 3, "ranking": 1, "task": 4, "stack": 1}),
    ("no_rounds", (NARROW,), {"spark": 2}),
    ("only_failures", (WIDE,), {"stack": 1}),
    ("empty", (NARROW,), {}),
)

STILL = ("network",)  # pages without a script of their own

faults = []


def fault(where, what):
    faults.append(f"{where}: {what}")


def browse(chromium, page, width, height, *arguments):
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run(
            [chromium, "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--disable-dev-shm-usage",
             f"--user-data-dir={profile}", f"--window-size={width},{height}", "--virtual-time-budget=2000",
             "--enable-logging=stderr", "--v=0", *arguments, page.as_uri()],
            capture_output=True, text=True, errors="replace", timeout=120)
    if done.returncode != 0:
        fault(page.name, f"the browser ended with {done.returncode}: {done.stderr[-500:]}")
    for line in done.stderr.splitlines():
        if "CONSOLE" in line:
            fault(page.name, f"at {width}: {line}")
    return done.stdout


def with_check(page):
    """A copy that collects errors from the first moment, and checks itself at the end."""
    text = page.read_text()
    text, replaced = re.subn(r'<meta http-equiv="Content-Security-Policy"[^>]*>',
                             f"<script>window.faults = []; window.still = {str(page.stem in STILL).lower()};"
                             "addEventListener('error', (e) => faults.push(e.message));"
                             "console.error = (...a) => faults.push(a.join(' '));</script>", text, count=1)
    if replaced != 1:
        fault(page.name, "there is no content security policy")
    script = (HERE / "browser_check.js").read_text()
    text = text.replace("</body>", f"<script>{script}</script></body>")
    copy = page.with_suffix(".checked.html")
    copy.write_text(text)
    return copy


def check_pages(chromium, folder):
    """All of them in frames of one page, because no window of a browser is as narrow as a phone."""
    frames = [(name, width, charts) for name, widths, charts in PAGES for width in widths]
    text = ["<!doctype html><script>addEventListener('message', (event) => {"
            "const pre = document.createElement('pre'); pre.className = 'checked';"
            "pre.textContent = event.data; document.body.append(pre); });</script><body>"]
    for name, width, _ in frames:
        copy = with_check(folder / f"{name}.html")
        text.append(f'<iframe src="{copy.name}" style="width:{width}px;height:1000px;border:0"></iframe>')
    gallery = folder / "gallery.html"
    gallery.write_text("\n".join(text))
    dom = browse(chromium, gallery, 1400, 1000, "--dump-dom")
    answers = {}
    for found in re.findall(r'<pre class="checked">(.*?)</pre>', dom, re.DOTALL):
        answer = json.loads(html.unescape(found))
        answers[answer["page"], answer["width"]] = answer
    for name, width, charts in frames:
        check_answer(f"{name} at {width}", answers.get((f"{name}.checked.html", width)), charts)


def check_answer(where, answer, charts):
    if answer is None:
        fault(where, "the check did not come to its end")
        return
    for what in answer["faults"]:
        fault(where, what)
    for kind, least in charts.items():
        if answer["charts"].get(kind, 0) < least:
            fault(where, f"{answer['charts'].get(kind, 0)} charts of kind {kind}, should be {least}")


def check_as_written(chromium, page):
    dom = browse(chromium, page, WIDE, 1000, "--dump-dom")
    if 'data-ready="yes"' not in dom:
        fault(page.name, "its script did not run under its own content security policy")
    hostile = page.with_suffix(".hostile.html")
    hostile.write_text(page.read_text().replace("</main>", "<script>document.title = 'owned'</script></main>"))
    with tempfile.TemporaryDirectory() as profile:
        done = subprocess.run([chromium, "--headless=new", "--no-sandbox", "--disable-gpu",
                               f"--user-data-dir={profile}", "--dump-dom", hostile.as_uri()],
                              capture_output=True, text=True, errors="replace", timeout=120)
    if "<title>owned" in done.stdout or "<title>" not in done.stdout:
        fault(page.name, "a script that is not the page's own was run")


def unfilter(kind, line, before, step):
    """One line of a PNG picture (RFC 2083, section 6), in place."""
    if kind == 1:
        for i in range(step, len(line)):
            line[i] = (line[i] + line[i - step]) & 255
    elif kind == 2:
        for i, up in enumerate(before):
            line[i] = (line[i] + up) & 255
    elif kind == 3:
        for i, up in enumerate(before):
            line[i] = (line[i] + ((line[i - step] if i >= step else 0) + up) // 2) & 255
    elif kind == 4:
        for i, up in enumerate(before):
            left, corner = (line[i - step], before[i - step]) if i >= step else (0, 0)
            guess = left + up - corner
            near = min((abs(guess - left), 0, left), (abs(guess - up), 1, up), (abs(guess - corner), 2, corner))
            line[i] = (line[i] + near[2]) & 255


def read_png(path):
    """(width, height, lines of bytes, bytes per pixel)"""
    data = path.read_bytes()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        body = data[at + 8:at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour = struct.unpack(">IIBB", body[:10])
        packed += body if kind == b"IDAT" else b""
        at += 12 + length
    step = {2: 3, 6: 4}[colour]
    assert depth == 8
    raw, size = zlib.decompress(packed), width * step
    lines, before = [], bytearray(size)
    for y in range(height):
        line = bytearray(raw[y * (size + 1) + 1:(y + 1) * (size + 1)])
        unfilter(raw[y * (size + 1)], line, before, step)
        lines.append(line)
        before = line
    return width, height, lines, step


def check_picture(chromium, page, width, dark):
    """The commonest colour, which is that of the page behind everything."""
    picture = page.with_name(f"{page.stem}-{width}-{'dark' if dark else 'light'}.png")
    picture.unlink(missing_ok=True)
    browse(chromium, page, width, 800, f"--screenshot={picture}",
           f"--blink-settings=preferredColorScheme={0 if dark else 1}")
    if not picture.is_file():
        fault(picture.name, "no picture was taken")
        return None
    seen_width, height, lines, step = read_png(picture)
    counts = {}
    for line in lines:
        for i in range(0, len(line), step):
            colour = bytes(line[i:i + 3])
            counts[colour] = counts.get(colour, 0) + 1
    if seen_width != width or len(counts) < 50:
        fault(picture.name, f"{seen_width} wide, {len(counts)} colours: it is blank")
    ground, pixels = max(counts.items(), key=lambda c: c[1])
    if pixels > 0.97 * seen_width * height:
        fault(picture.name, "nearly all of it has one colour")
    return sum(ground)


def check_print(chromium, page):
    paper = page.with_suffix(".pdf")
    paper.unlink(missing_ok=True)
    browse(chromium, page, WIDE, 1000, f"--print-to-pdf={paper}")
    pages = len(re.findall(rb"/Type\s*/Page\b", paper.read_bytes())) if paper.is_file() else 0
    if pages < 2:
        fault(paper.name, f"{pages} pages on paper")


def main(chromium, writer, folder):
    folder = pathlib.Path(folder).resolve()
    subprocess.run([writer, str(folder)], check=True)
    check_pages(chromium, folder)
    whole = folder / "whole.html"
    check_as_written(chromium, whole)
    light = check_picture(chromium, whole, WIDE, dark=False)
    dark = check_picture(chromium, whole, NARROW, dark=True)
    if light is not None and dark is not None and light < dark + 300:
        fault("whole.html", f"light ({light}) and dark ({dark}) are alike")
    check_print(chromium, whole)
    print("\n".join(faults) if faults else f"reports: {len(PAGES)} pages looked at, no faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
