# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Browser scripts that check a drawing: no overlapping texts, and sufficient contrast."""
from __future__ import annotations

from luminance import LUMINANCE

# Texts of the drawing that overlap or exceed it, as rendered by the browser.
CROWDED = """
svg => {
  const whole = svg.getBoundingClientRect();
  const texts = [...svg.querySelectorAll("text")].map((one) => [one.textContent, one.getBoundingClientRect()]);
  const apart = (a, b) => a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 1 || b.bottom <= a.top + 1;
  return [...texts.filter(([, box]) => box.right > whole.right || box.left < whole.left).map(([text]) => text),
    ...texts.flatMap(([text, box], at) => texts.slice(at + 1).filter(([, other]) => !apart(box, other))
      .map(([other]) => `${text} / ${other}`))];
}
"""
# Contrast of each text, and of each line and point except the grid, against its background.
FAINT = """
svg => {""" + LUMINANCE + """
  const behind = svg.querySelector("rect.ground");
  const ground = luminance(behind ? getComputedStyle(behind).fill : getComputedStyle(document.body).backgroundColor);
  const ratio = (colour) => {
    const [one, other] = [luminance(colour), ground].sort((a, b) => b - a);
    return (one + 0.05) / (other + 0.05);
  };
  const drawn = [...svg.querySelectorAll("text, line[class], circle:not(.hollow), rect.mark-bad")].filter((one) =>
    one.getAttribute("class") || one.localName === "text");
  return drawn.map((one) => [one.outerHTML, ratio(getComputedStyle(one)[one.localName === "line" ? "stroke" : "fill"])])
    .filter(([name, found]) => found < (name.startsWith("<text") ? 4.5 : 3));
}
"""

# What each background and text is, as the browser computes it, and how they stand out from each other.
CONTRAST = """
() => {""" + LUMINANCE + """
  const ground = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = getComputedStyle(one).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "white";
  };
  const worst = {};
  for (const element of document.querySelectorAll("body *")) {
    if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
    if (!element.checkVisibility()) continue;
    const pair = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((a, b) => b - a);
    const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
    const key = `${element.localName}.${element.className}`;
    worst[key] = Math.min(worst[key] || 99, ratio);
  }
  return worst;
}
"""
