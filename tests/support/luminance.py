# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The relative luminance of a colour (WCAG 2.2), for scripts that check contrast in a browser."""
from __future__ import annotations

# Start of a function body that provides luminance(colour). An SVG file creates its canvas by namespace.
LUMINANCE = """
  const canvas = document.createElementNS("http://www.w3.org/1999/xhtml", "canvas").getContext("2d",
    {willReadFrequently: true});
  const luminance = (colour) => {
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = [...canvas.getImageData(0, 0, 1, 1).data].map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
"""
