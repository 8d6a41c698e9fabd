#pragma once

// The panels of a report, each a JSON value: numbers in columns, seconds and epochs as they are, an
// unknown number null, and `why` where there is nothing to show. Private to this room.

#include <vector>

#include "report/source.h"
#include "report/trial_query.h"
#include "report/trials.h"

namespace detol::inline report {

using Trials = std::vector<ShownTrial>;

// Returns the model (report.h) of all trials, where those that are drawn one by one, with their
// choices, are `some` of them. REQUIRES: trials[i].trial == i.
Json model_with(const ReportSource& source, const Trials& trials, const Trials& some);

// Returns null for a number that is not finite, which JSON cannot say.
Json number_or_null(double number);

// card.cpp
Json study_card(const ReportSource& source, const Trials& trials);
Json what_was_found(const ReportSource& source, const Trials& trials);
Json what_it_lacks(const ReportSource& source, const Trials& trials);

// history.cpp: {"by_trial": {"trial", "value", "best"}, "by_end": {..., "wall_s", "device_s"}}. The
// best is that of all trials so far, null before the first. At most about 3,000 trials each.
Json history(const ReportSource& source, const Trials& trials);

// Rows {"share", "value", "trial", "wall_s", "device_s"} for some shares of the way from the first
// value to the best: when the best so far had come so far, by the ends of the trials, pauses and
// the device time of all that had ended by then included. Empty if nothing is better than the
// first.
Json time_to_best(const ReportSource& source, const Trials& trials);

// {"front": numbers of the trials of the Pareto set, "reference", "volume": {"trial", "volume"}}:
// the hypervolume of the first trials up to each number, below the reference of each objective, by
// default its worst value.
// Null with one objective.
Json pareto_front(const ReportSource& source, const Trials& trials);

// choices.cpp: each choice of the space with its value in every trial, null where it is inactive;
// how much each matters.
Json parameters(const ReportSource& source, const Trials& trials);
Json importances(const ReportSource& source);

// curves.cpp: at most 200 learning curves, the best and a sample of the others; how many trials the
// pruner ended at each epoch.
Json learning_curves(const ReportSource& source, const Trials& trials);

// workers.cpp: who trained what when, how busy each worker was, and the share of the devices' time
// that was training; what was left of each limit of the budget when trials ended.
Json workers(const ReportSource& source, const Trials& trials);
Json budget_left(const ReportSource& source, const Trials& trials);

// credit.cpp: a row per algorithm that proposed: its proposals, how often one was the best so far
// when it ended, and its best.
Json credit(const ReportSource& source, const Trials& trials);

// networks.cpp: drawings of the best networks, and what differs between the best two trials.
Json networks(const ReportSource& source, const Trials& trials);

// landscapes.cpp: the loss around trained networks, as `detol landscape` wrote it.
Json landscapes(const ReportSource& source);

// Returns the lines in which two lists differ, side by side, by a longest common subsequence; an
// empty line where the other list has more.
std::vector<std::pair<std::string, std::string>> differing_lines(const std::vector<std::string>& a,
                                                                 const std::vector<std::string>& b);

// Returns the positions of the Pareto set, ascending; none with one objective.
std::vector<std::size_t> pareto_trials(const ReportSource& source, const Trials& trials);

// trial_page.cpp: the positions of the trials of a page, in its order, of `matching` on all pages.
// A page behind the last one is the last one.
std::vector<std::size_t> page_of_trials(const ReportSource& source, const Trials& trials,
                                        const TrialQuery& query, std::size_t& matching);

// columns.cpp: every trial, a column for each property.
Json trial_columns(const ReportSource& source, const Trials& trials);

}  // namespace detol::inline report
