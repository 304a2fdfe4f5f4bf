"""`python -m bayop` is `bayop`."""

import sys

from bayop.cli import main

sys.exit(main())
