# Copyright (c) 2026, gpuhost.tuning contributors
# GNU General Public License v3.0 or later (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The kernel that copies, by NVIDIA's assembler where this machine has it."""
from __future__ import annotations

import re
import shutil
import subprocess

import pytest
from ansible_collections.gpuhost.tuning.plugins.module_utils._bandwidth.cuda_kernel import PTX


@pytest.mark.skipif(shutil.which("ptxas") is None, reason="ptxas of the CUDA toolkit assembles the kernel")
@pytest.mark.parametrize("capability", ["sm_75", "sm_90"])
def test_the_assembler_takes_it(capability, tmp_path):
    source = tmp_path / "copy.ptx"
    source.write_bytes(PTX.rstrip(b"\0"))
    subprocess.run(["ptxas", f"-arch={capability}", str(source), "-o", str(tmp_path / "copy.cubin")], check=True,
                   capture_output=True)


def test_it_is_a_text_that_ends():
    assert PTX.endswith(b"\n\0")
    assert PTX.count(b"\0") == 1
    # Every jump back is behind the comparison with the end.
    assert re.search(rb"NEXT:\s+setp.ge.u64 %done, %at, %count;\s+@%done bra END;", PTX)
