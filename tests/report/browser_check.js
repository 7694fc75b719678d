// SPDX-License-Identifier: Apache-2.0
// Put into a copy of a report by browser.py: looks at the page as laid out and tells the page around it, as JSON, what
// is wrong.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const faults = window.faults;
  const charts = {};
  const fault = (element, what) => {
    const name = element.closest("[id]")?.id || "page";
    faults.push(`${name}: ${element.tagName} ${element.getAttribute("class") || ""}: ${what}`);
  };
  const count = (kind) => { charts[kind] = (charts[kind] || 0) + 1; };

  const check_svg = (svg) => {
    const box = svg.getBoundingClientRect();
    if (box.width < 20 || box.height < 4) fault(svg, `${box.width} x ${box.height} pixels`);
    if (box.left < -1 || box.right > innerWidth + 1) fault(svg, `from ${box.left} to ${box.right}`);
    const paths = all("path", svg);
    if (paths.length === 0) fault(svg, "nothing is drawn");
    for (const path of paths) {
      const d = path.getAttribute("d");
      if (!/^M[-0-9.]/.test(d) || /nan|inf/i.test(d)) fault(path, `d="${d.slice(0, 60)}"`);
      const style = getComputedStyle(path);
      if (style.stroke === "none" && style.fill === "none") fault(path, "without a colour");
      const area = path.getBBox();
      if (area.x < -1 || area.x + area.width > 1001) fault(path, "beyond the axis");
    }
  };

  // Labels of one axis, and labels of lines, do not lie upon each other.
  const check_labels = (plot) => {
    for (const kind of [".x", ".y", ".label"]) {
      const boxes = all(kind, plot).map((e) => e.getBoundingClientRect()).filter((b) => b.width > 0);
      if (kind !== ".label" && boxes.length < 1) fault(plot, `no labels ${kind}`);
      boxes.forEach((a, i) => boxes.slice(0, i).forEach((b) => {
        const overlap = a.left < b.right - 1 && b.left < a.right - 1 && a.top < b.bottom - 3 && b.top < a.bottom - 3;
        if (overlap) fault(plot, `two labels ${kind} at ${Math.round(a.left)}, ${Math.round(a.top)}`);
      }));
    }
  };

  const check_readout = (plot) => {
    const box = plot.getBoundingClientRect();
    const said = new Set();
    for (const share of [0, 0.5, 1]) {
      plot.dispatchEvent(new PointerEvent("pointermove", { clientX: box.left + share * box.width, clientY: box.top + 5 }));
      const tip = plot.querySelector(".tip");
      if (!tip || tip.textContent.length < 5) return fault(plot, "no readout under the pointer");
      const place = tip.getBoundingClientRect();
      if (place.left < -1 || place.right > innerWidth + 1) fault(tip, `from ${place.left} to ${place.right}`);
      said.add(tip.textContent);
    }
    if (said.size < 2) fault(plot, "one readout for every place");
    const last = plot.querySelector(".tip").textContent;
    plot.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowLeft", bubbles: true }));
    if (plot.querySelector(".tip").textContent === last) fault(plot, "keys do not move the readout");
    plot.dispatchEvent(new PointerEvent("pointerleave"));
    if (plot.querySelector(".tip")) fault(plot, "the readout stays");
  };

  const check_plot = (plot) => {
    count(plot.classList[1]);
    check_svg(plot.querySelector("svg"));
    check_labels(plot);
    if (plot.dataset.readouts.split("\n").length > 1) check_readout(plot);
    if (!plot.getAttribute("aria-label")) fault(plot, "says nothing to those who cannot see it");
  };

  // Each row is visible, and a head orders the rows by its column.
  const check_table = (table) => {
    const body = table.tBodies[0];
    all("thead button", table).forEach((button, column) => {
      button.click();
      button.click();
      const values = [...body.rows].map((row) => row.cells[column])
        .map((cell) => column === 0 ? cell.dataset.sortText : cell.dataset.sort)
        .filter((v) => v !== undefined).map((v) => column === 0 ? v : +v);
      const sorted = values.every((v, i) => i === 0 || (column === 0 ? values[i - 1].localeCompare(v) >= 0 : values[i - 1] <= v));
      if (!sorted) fault(button, `column ${column} is not sorted: ${values}`);
    });
    if (all("thead button", table).length !== 11) fault(table, "not every column can be sorted");
  };

  // A box per step, inside of the picture; what stands in it neither leaves it nor lies upon another word.
  const check_flow = (svg) => {
    count("flow");
    const picture = svg.getBoundingClientRect();
    const nodes = all("g.node", svg);
    if (nodes.length < 2 || picture.height < 30 * nodes.length) fault(svg, `${nodes.length} boxes on ${picture.height} pixels`);
    const scroll = svg.parentElement.getBoundingClientRect();
    if (scroll.right > innerWidth + 1) fault(svg.parentElement, `to ${scroll.right}`);
    for (const path of all("path", svg)) {
      if (!/^M[-0-9.]/.test(path.getAttribute("d")) || /nan|inf/i.test(path.getAttribute("d"))) fault(path, path.getAttribute("d"));
      if (getComputedStyle(path).stroke === "none") fault(path, "without a colour");
    }
    for (const node of nodes) {
      const box = node.querySelector(".box").getBoundingClientRect();
      if (getComputedStyle(node.querySelector(".stripe")).fill === "none") fault(node, "without a colour");
      let right = box.left;
      for (const text of all("text", node)) {
        const place = text.getBoundingClientRect();
        if (place.left < right - 1 || place.right > box.right) fault(text, `${text.textContent} from ${place.left - box.left}`);
        right = place.right;
      }
    }
    if (all(".conversion", svg).length < 1) fault(svg, "without conversions");
  };

  // The fastest first.
  const check_tries = (table) => {
    count("tries");
    if (table.tBodies[0].rows.length < 2) fault(table, "without rows");
    if (!table.getBoundingClientRect().width) fault(table, "not visible");
  };

  const check_width = () => {
    const width = document.documentElement.scrollWidth;
    if (width > innerWidth) faults.push(`the page is ${width} wide on a screen of ${innerWidth}`);
    for (const e of all("main *")) {
      if (e.closest("pre, svg, .switch, thead")) continue;
      const box = e.getBoundingClientRect();
      if (box.width > 0 && (box.right > innerWidth + 1 || box.left < -1)) fault(e, `from ${box.left} to ${box.right}`);
      const leaves = e.children.length === 0 && e.clientWidth > 0 && e.scrollWidth > e.clientWidth + 1;
      if (leaves && getComputedStyle(e).overflowX === "visible") fault(e, `"${e.textContent}" leaves its box`);
    }
  };

  const run = () => {
    const scripts = window.still ? 2 : 3;  // with those of the check
    if (!window.still && document.documentElement.dataset.ready !== "yes") faults.push("the page's script did not come to its end");
    if (document.title.includes("owned")) faults.push("a label was run as a script");
    if (document.scripts.length !== scripts) faults.push(`${document.scripts.length} scripts, should be ${scripts}`);
    const link = document.querySelector("tbody a[href]");
    const folds = all("details.task");
    if (link && folds.length > 1) {
      const last = all("tbody a[href]").at(-1);
      last.click();
      dispatchEvent(new Event("hashchange"));
      const target = document.getElementById(decodeURIComponent(last.hash.slice(1)));
      if (!target?.open) fault(last, "does not open its task");
    }
    all("details").forEach((d) => { d.open = true; });
    all("svg.spark, svg.stack, svg.bar").filter((s) => s.checkVisibility()).forEach((svg) => {
      count(svg.classList[0]);
      check_svg(svg);
    });
    all("svg.flow").forEach(check_flow);
    all("table.tries").forEach(check_tries);
    all(".plot").filter((p) => !p.closest(".switched")).forEach(check_plot);
    for (const switched of all(".switched")) {
      for (const input of all("input", switched)) {
        input.click();
        const shown = all(".plot", switched).filter((p) => p.checkVisibility());
        if (shown.length !== 1) fault(switched, `${shown.length} charts at a time`);
        shown.forEach(check_plot);
      }
    }
    all("table.tasks").forEach(check_table);
    check_width();
    for (const e of all("h1, h2, h4, p, dd, td, th, summary")) {
      if (/\bnan\b|\binf\b|undefined|null/i.test(e.textContent) && !e.querySelector("pre")) fault(e, e.textContent.slice(0, 80));
    }
  };

  try {
    run();
  } catch (e) {
    faults.push(`the check itself: ${e.stack}`);
  }
  parent.postMessage(JSON.stringify({ faults, charts, width: innerWidth, page: location.pathname.split("/").at(-1) }), "*");
})();
