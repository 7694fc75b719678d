// SPDX-License-Identifier: Apache-2.0
// What the page can do beyond being read: readouts on charts, sorting, folding, copying. Nothing here draws a chart.
"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const make = (tag, kind, parent) => {
    const e = document.createElement(tag);
    e.className = kind;
    parent.append(e);
    return e;
  };

  // Each line of data-readouts is "x,y,text" with x and y out of 1000.
  const readouts = (plot) => {
    const points = plot.dataset.readouts.split("\n").map((line) => {
      const [x, y, ...text] = line.split(",");
      return { x: +x / 1000, y: +y / 1000, text: text.join(",") };
    });
    let dot = null, tip = null, at = points.length - 1;
    const show = (i) => {
      at = Math.min(points.length - 1, Math.max(0, i));
      const p = points[at];
      dot = dot || make("span", "dot", plot);
      tip = tip || make("span", "tip", plot);
      dot.style.left = `${100 * p.x}%`;
      dot.style.top = `${100 * p.y}%`;
      tip.textContent = p.text;
      tip.style.left = "0";
      const room = plot.clientWidth - tip.offsetWidth;
      tip.style.left = `${Math.max(0, Math.min(room, p.x * plot.clientWidth - tip.offsetWidth / 2))}px`;
      const y = p.y * plot.clientHeight;
      tip.style.top = `${y > 40 ? y - 36 : y + 14}px`;
    };
    const hide = () => {
      dot?.remove();
      tip?.remove();
      dot = tip = null;
    };
    plot.addEventListener("pointermove", (event) => {
      const x = (event.clientX - plot.getBoundingClientRect().left) / plot.clientWidth;
      let nearest = 0;
      points.forEach((p, i) => {
        if (Math.abs(p.x - x) < Math.abs(points[nearest].x - x)) nearest = i;
      });
      show(nearest);
    });
    plot.addEventListener("pointerleave", hide);
    plot.addEventListener("focus", () => { if (plot.matches(":focus-visible")) show(at); });
    plot.addEventListener("blur", hide);
    plot.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1, Home: -points.length, End: points.length }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      show(at + step);
    });
  };

  const sortable = (table) => {
    const body = table.tBodies[0];
    all("thead th", table).forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = head.textContent;
      head.replaceChildren(button);
      button.addEventListener("click", () => {
        const text = column === 0;
        const first = text ? "ascending" : "descending";
        const second = text ? "descending" : "ascending";
        const order = head.getAttribute("aria-sort") === first ? second : first;
        all("thead th", table).forEach((h) => h.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", order);
        const sign = order === "ascending" ? 1 : -1;
        const value = (row) => {
          const cell = row.cells[column];
          return text ? cell.dataset.sortText : cell.dataset.sort === undefined ? null : +cell.dataset.sort;
        };
        const rows = [...body.rows].map((row) => [value(row), row]);
        rows.sort(([a], [b]) => {
          if (a === null || b === null) return (a === null) - (b === null);
          return sign * (text ? a.localeCompare(b) : a - b);
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  };

  const copyable = (pre) => {
    const button = make("button", "copy-button", pre.parentElement);
    button.type = "button";
    button.textContent = "copy";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(pre.textContent);
        button.textContent = "copied";
      } catch {
        getSelection().selectAllChildren(pre);
        button.textContent = "selected: press Ctrl+C";
      }
      setTimeout(() => { button.textContent = "copy"; }, 2000);
    });
  };

  const open_target = () => {
    const target = location.hash.length > 1 && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target instanceof HTMLDetailsElement) {
      target.open = true;
      target.scrollIntoView();
    }
  };

  all("[data-readouts]").forEach(readouts);
  all("table.tasks").forEach(sortable);
  all("pre.copy").forEach(copyable);
  addEventListener("hashchange", open_target);
  open_target();
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = all("details.task:not([open])");
    closed.forEach((d) => { d.open = true; });
  });
  addEventListener("afterprint", () => closed.forEach((d) => { d.open = false; }));
  document.documentElement.dataset.ready = "yes";
})();
