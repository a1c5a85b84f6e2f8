#!/usr/bin/env python3
"""Writes the device files as one C++ source, so that the program finds them wherever it is installed.

  embed.py OUTPUT FILE...
"""

import pathlib
import sys

DELIMITER = "DEVICE"


def main(output, files):
    lines = ["// Written by configs/devices/embed.py.",
             "",
             '#include "sim/config/device_file.h"',
             "",
             "namespace pinfold::sim {",
             "namespace {",
             "",
             "using namespace std::string_view_literals;",
             "",
             "constexpr BuiltInDevice kDevices[] = {"]
    for path in sorted(map(pathlib.Path, files)):
        text = path.read_text(encoding="utf-8")
        assert f"){DELIMITER}\"" not in text, path
        lines.append(f'    {{"{path.stem}", R"{DELIMITER}({text}){DELIMITER}"sv}},')
    lines += ["};",
              "",
              "}  // namespace",
              "",
              "std::span<const BuiltInDevice> built_in_devices() { return kDevices; }",
              "",
              "}  // namespace pinfold::sim",
              ""]
    pathlib.Path(output).write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
