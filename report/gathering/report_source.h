#pragma once

// What a report of a study is made of, read from its knowledge base.

#include <optional>
#include <string>
#include <vector>

#include "report/source.h"
#include "studies/open_study.h"

namespace detol::inline report {

inline constexpr std::int64_t kLookedAtForNetworks = 50;  // trials, the best

// Returns all of it. Errors (kStorage).
Result<ReportSource> read_source(const OpenStudy& study, const std::string& storage);

// Returns what is of the study as a whole, without trials, events, importance and networks. Errors
// (kStorage).
Result<ReportSource> read_facts(const OpenStudy& study);

// Add the importance of the choices, or the networks of the best trials, or why there are none;
// with `among`, of these trials.
void add_importance(const OpenStudy& study, const std::optional<std::vector<TrialId>>& among,
                    ReportSource& source);
void add_networks(const OpenStudy& study, const std::string& storage,
                  const std::optional<std::vector<TrialId>>& among, ReportSource& source);

// Adds the loss landscapes of the study, of some eight trials at most: the best one first.
void add_landscapes(const OpenStudy& study, const std::string& storage, ReportSource& source);

}  // namespace detol::inline report
