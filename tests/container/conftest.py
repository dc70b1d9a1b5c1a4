# SPDX-License-Identifier: MIT
"""Buildah is a second engine for the same Dockerfile, tried where it is installed."""
import shutil

collect_ignore = [] if shutil.which("buildah") else ["test_buildah.py"]
