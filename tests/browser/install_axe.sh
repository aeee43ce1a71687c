#!/bin/sh
# axe-core, which checks pages against WCAG, from npm: build/axe/axe.min.js
set -eu
cd -- "$(dirname -- "$0")/../.."
[ -f build/axe/axe.min.js ] && exit 0
mkdir -p build/axe
cd build/axe
npm pack --silent axe-core@4.14.0 > /dev/null
tar -xzf axe-core-4.14.0.tgz package/axe.min.js
mv package/axe.min.js axe.min.js
