# SPDX-License-Identifier: Apache-2.0
"""Text tables and the pieces of SVG that the reports share."""
import html

COLORS = {"tenon": "#2a8c4a", "onnxruntime": "#1f6fb4", "openvino": "#7a4fb5", "tvm": "#999999", "pytorch": "#d9622b"}


def text_table(lines, left=1):
    """LINES of cells, the first is the head; the first LEFT columns are aligned to the left."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    return "\n".join("  ".join(cell.ljust(width) if column < left else cell.rjust(width)
                               for column, (cell, width) in enumerate(zip(line, widths))).rstrip()
                     for line in lines)


def milliseconds(value):
    if value is None:
        return "-"
    return f"{value:.4f}" if value < 0.1 else f"{value:.3f}" if value < 1 else f"{value:.2f}" if value < 1000 else f"{value:.0f}"


def ratio(value):
    return f"{value:.2f}" if value else "-"


def color(name):
    return COLORS.get(name, "#444444")


def text(x, y, words, anchor="start", size=11):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">{html.escape(words)}</text>'


def document(width, height, parts):
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif"'
            f' font-size="11"><rect width="100%" height="100%" fill="#fff"/>' + "".join(parts) + "</svg>\n")
