#!/usr/bin/env python3
"""Puts the report page together and writes it as a C++ source: page.html with the styles, the chart
library and the script inside, in two parts between which the run's data goes.

  embed.py OUTPUT FOLDER [DYGRAPHS]

FOLDER holds page.html, page.css and page.js; DYGRAPHS is the folder of dygraph.min.js and
dygraph.min.css. Without it there is no page, and the program says so.
"""

import base64
import hashlib
import pathlib
import re
import sys

DELIMITER = "PAGE"


def without_map(text):
    """Without the name of a source map, for which a browser's tools would ask the network."""
    return re.sub(r"(//# sourceMappingURL=\S*|/\*# sourceMappingURL=\S* ?\*/)\s*$", "", text).strip()


def digest(text):
    """As a Content-Security-Policy names an inline script or style."""
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def page(folder, library):
    style = "\n" + without_map((library / "dygraph.min.css").read_text(encoding="utf-8")) + "\n" + \
        (folder / "page.css").read_text(encoding="utf-8")
    scripts = [without_map((library / "dygraph.min.js").read_text(encoding="utf-8")),
               (folder / "page.js").read_text(encoding="utf-8")]
    for script in scripts:
        assert "</script" not in script
    policy = "; ".join(["default-src 'none'", "script-src " + " ".join(map(digest, scripts)),
                        "style-src " + digest(style), "img-src data:", "base-uri 'none'",
                        "form-action 'none'"])
    text = (folder / "page.html").read_text(encoding="utf-8")
    text = text.replace("{{policy}}", policy).replace("{{style}}", style)
    text = text.replace("{{scripts}}", "\n".join(f"<script>{script}</script>" for script in scripts))
    return text.split("{{data}}")


def literal(text):
    """As string literals; a compiler need not take one of any length."""
    assert f"){DELIMITER}\"" not in text
    pieces = [text[at:at + 12000] for at in range(0, len(text), 12000)]
    return "\n".join(f'R"{DELIMITER}({piece}){DELIMITER}"' for piece in pieces) or '""'


def main(output, folder, library=None):
    before, after = page(pathlib.Path(folder), pathlib.Path(library)) if library else ("", "")
    pathlib.Path(output).write_text(f"""// Written by sim/report/html/embed.py.

#include "sim/report/run_page.h"

namespace pinfold::sim {{

using namespace std::string_view_literals;

std::string_view page_before_data() {{
  return {literal(before)}sv;
}}

std::string_view page_after_data() {{
  return {literal(after)}sv;
}}

}}  // namespace pinfold::sim
""", encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
