#pragma once

// The final choice: after a search of a small table, its ten best trials are trained anew on other
// folds of the same records, and the one with the best mean score over the folds is the best from
// then on. The best of hundreds of trials on one small validation split is often the luckiest; ten
// on other records are chosen among more honestly, and their scores are nearer to those of a test.
//
// A fold holds out a fifth of the records that are not for testing; a trial is trained on the rest
// for as many epochs as gave its value, with its own seed and schedule. Rounds, all trials on one
// fold, take at most a quarter of what the search cost. The scores are models of the study
// (v_models, kind cross_validated), outside of its budget. Equal searches choose equally.

#include <string>

#include "scheduler/run/study_run.h"

namespace detol::inline models {

// Makes the choice where the study is of a table of fewer than 5,000 records that are not for
// testing, has one objective, measured in validation, and does not say search.final_choice: none;
// and logs it. It changes nothing if a signal ends it, or if the last choice still counts. An error
// is a warning. REQUIRES: as train_in_children.
void choose_finally(const RunOptions& run, const std::string& study);

// What a search does when it has ended as it should: the final choice, then the test score.
void end_search(const RunOptions& run, const std::string& study);

}  // namespace detol::inline models
