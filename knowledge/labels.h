#pragma once

// Labels: the tags and the note that people put on a study or on one of its trials.
//
// Each change is a fact of kind `label` with a random key (facts.h), so that it needs no lock of
// the study, survives backups, and a merge takes the changes of both sides; the last one by time
// holds.
//
//   {"study":"0123456789abcdef","trial":12,"tag":"good","on":true,"at":1700000000.25}
//   {"study":"0123456789abcdef","note":"the new augmentation","at":1700000000.5}
//
// A study is named by a hash of when it was created and of its configuration, which a new name and
// a merge leave alone; a copy is another study and has no labels.

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "knowledge/ledger.h"

namespace detol::inline knowledge {

struct Labels {
  std::set<std::string> tags;
  std::string note;  // empty: none
};

// LabelTarget: a trial; nullopt: the study.
using LabelTarget = std::optional<TrialId>;

// LabelChange: what a person says of a target.
struct LabelChange {
  LabelTarget target = {};
  std::vector<std::string> tags = {};  // put on, or taken off
  bool removes_tags = false;
  std::optional<std::string> note = {};  // replaces the note; empty: removes it
};

// Returns the facts of a change at `now_s`, seconds since 1970; of one that is later than all
// changes of the study in `known`, facts of kind `label`, if the clock is behind them.
std::vector<Fact> label_facts(const StudyRecord& study, const LabelChange& change, double now_s,
                              std::span<const Fact> known);

// Returns the labels of a study and of its trials, from facts of kind `label`.
std::map<LabelTarget, Labels> labels_of(const StudyRecord& study, std::span<const Fact> facts);

}  // namespace detol::inline knowledge
