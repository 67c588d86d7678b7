"""Take pictures of a report page in headless Chromium: look_at_report.py PAGE FOLDER.

Writes light.png, dark.png, narrow.png and print.pdf. Needs `chromium` or `google-chrome` on PATH.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SHOTS = {
    "light": ("1200,2600", ()),
    "dark": ("1200,2600", ("--force-dark-mode", "--enable-features=WebContentsForceDark:0")),
    "narrow": ("420,2600", ()),
}


def chromium() -> str | None:
    """Return the path of a Chromium; None if there is none."""
    names = ("chromium", "chromium-browser", "google-chrome")
    return next((path for name in names if (path := shutil.which(name))), None)


def browse(page: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Open a page in a new, empty profile without network, and return what the browser said."""
    browser = chromium()
    if browser is None:
        raise SystemExit("no Chromium here; install one, for example Debian's package chromium")
    quiet = ("--headless", "--disable-gpu", "--no-sandbox", "--disable-quic", "--no-first-run")
    calm = ("--disable-background-networking", "--disable-component-update", "--disable-sync")
    with tempfile.TemporaryDirectory() as profile:
        command = [browser, *quiet, *calm, f"--user-data-dir={profile}", "--hide-scrollbars"]
        command += [*arguments, page.absolute().as_uri()]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


def main() -> None:
    """Take the pictures."""
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    page, folder = Path(sys.argv[1]), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    for name, (size, more) in SHOTS.items():
        shot = folder / f"{name}.png"
        browse(page, f"--screenshot={shot}", f"--window-size={size}", *more)
    browse(page, f"--print-to-pdf={folder / 'print.pdf'}", "--no-pdf-header-footer")
    sys.stdout.write(f"pictures in {folder}\n")


if __name__ == "__main__":
    main()
