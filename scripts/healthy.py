"""Exit code 0 while the dashboard answers: the health check of the container images."""

from __future__ import annotations

import sys
import urllib.request

URL = "http://127.0.0.1:8501/_stcore/health"


def main() -> int:
    """0 when Streamlit's own health page answers within 3 seconds, 1 with the reason otherwise."""
    try:
        with urllib.request.urlopen(URL, timeout=3):
            return 0
    except OSError as error:  # URLError, a refused connection and a timeout are all OSErrors
        print(error)
        return 1


if __name__ == "__main__":
    sys.exit(main())
