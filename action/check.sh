#!/usr/bin/env bash
# What the GitHub Action runs. Inputs come from the environment; see action.yml.
set -euo pipefail

fail() {
  echo "::error title=dpcheck::$1"
  exit 2
}

arguments=(check --format github)
[[ -z "${INPUT_CONFIG:-}" ]] || arguments+=("--config=$INPUT_CONFIG")
[[ -z "${INPUT_REPORTS:-}" ]] || arguments+=("--report=$INPUT_REPORTS")
for name in nightly allow-undecided require-proof; do
  variable="INPUT_${name^^}"
  case "$(printenv "${variable//-/_}" || true)" in
    true) arguments+=("--$name") ;;
    false | "") ;;
    *) fail "the input $name must be true or false." ;;
  esac
done

cd -- "${INPUT_WORKING_DIRECTORY:-.}" || fail "the input working-directory names no folder."
status=0
output=$(dpcheck "${arguments[@]}") || status=$?
printf '%s\n' "$output"
# A check that passes says so; silence is no answer, whatever the exit code.
if [[ -z "$output" ]]; then
  echo "::error title=dpcheck::the check ended without a result; the log of this step says why."
  [[ "$status" != 0 ]] || status=2
fi
[[ -z "${GITHUB_OUTPUT:-}" ]] || echo "exit-code=$status" >> "$GITHUB_OUTPUT"
exit "$status"
