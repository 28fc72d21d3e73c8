#!/usr/bin/env bash
# Makes the environment that converts networks: the vendor's toolkit without its GPU libraries.
# x86-64, Python 3.11. `deploy/convert/setup.sh [FOLDER]`; FOLDER is deploy/convert/.venv otherwise.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/.venv}
python=${PYTHON:-python3.11}

"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' ||
    { echo "the toolkit has wheels for Python 3.11: set PYTHON" >&2; exit 1; }
"$python" -m venv "$venv"
"$venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
# Its own list of dependencies names a torch with CUDA and a second OpenCV: four gigabytes more.
"$venv/bin/pip" install --quiet --no-deps 'rknn-toolkit2==2.5.0'
# Torch for the processor alone is a tenth of the other; TORCH_INDEX names an index that has it.
"$venv/bin/pip" install --quiet --no-deps ${TORCH_INDEX:+--index-url "$TORCH_INDEX"} 'torch==2.13.0+cpu' ||
    { echo "no torch for the processor alone (TORCH_INDEX): taking the large one" >&2
      "$venv/bin/pip" install --quiet torch; }
"$venv/bin/pip" install --quiet --no-deps --editable "$here/../.."
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
echo "$here" > "$site/edgefaced_convert.pth"
"$venv/bin/python" -W ignore -m edgefaced_convert --help > /dev/null
echo "ready: $venv/bin/python -m edgefaced_convert --help"
