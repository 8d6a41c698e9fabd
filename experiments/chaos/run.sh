#!/usr/bin/env bash
# Every fault at every visit with every kind of search, then a hundred random kills of each:
# about half an hour on two cores. The last lines of each part say whether all promises held.
#
#   experiments/chaos/run.sh [FOLDER of the build, default build/check] [SEED, default 7]
set -eu
cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.."
build=${1:-build/check}
seed=${2:-7}

echo "== every fault at every visit"
DETOL_CHAOS=thorough "$build/bin/chaos_test" --gtest_filter='*Exhaustive*' --gtest_brief=1

echo "== a hundred random kills, seed $seed"
DETOL_CHAOS_KILLS=100 DETOL_CHAOS_SEED=$seed "$build/bin/chaos_test" --gtest_filter='*RandomKill*' --gtest_brief=1

if [ -x "$build/bin/detol_mpich" ]; then
  echo "== the same of groups with MPICH"
  DETOL_PROGRAM=$PWD/$build/bin/detol_mpich DETOL_CHAOS_KILLS=100 DETOL_CHAOS_SEED=$seed \
    "$build/bin/chaos_test" --gtest_filter='*RandomKill*group*' --gtest_brief=1
fi

echo "== fifty random kills of four searches that write one file, seed $seed"
experiments/chaos/shared_base --detol "$build/bin/detol" --kills 50 --trials 300 --seed "$seed"
