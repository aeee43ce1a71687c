#!/usr/bin/env bash
# Installs this dpcheck, and what the audited project needs. Inputs come from the environment; see action.yml.
set -euo pipefail

pip=(python -m pip install --quiet --disable-pip-version-check)
"${pip[@]}" "$GITHUB_ACTION_PATH"
cd -- "${INPUT_WORKING_DIRECTORY:-.}"
# Words of an input, never code: split at spaces, no globs, no expansion.
read -r -a wanted <<< "${INPUT_INSTALL:-}"
if [[ ${#wanted[@]} -gt 0 ]]; then
  "${pip[@]}" "${wanted[@]}"
elif [[ -f requirements.txt ]]; then
  "${pip[@]}" -r requirements.txt
fi
