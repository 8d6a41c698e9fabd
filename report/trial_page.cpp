#include <algorithm>
#include <cctype>
#include <cmath>

#include "report/panels.h"

namespace detol::inline report {
namespace {

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

// Returns the texts of a trial that a person may look for.
std::string texts_of(const ReportSource& source, const ShownTrial& trial) {
  std::string text = std::to_string(trial.trial) + '\n' + trial.state + '\n' + trial.failure +
                     '\n' + trial.reason + '\n' + trial.algorithm;
  const auto labels = source.labels.find(trial.trial);
  if (labels == source.labels.end()) return text;
  for (const std::string& tag : labels->second.tags) text += "\n#" + tag;
  return text + '\n' + labels->second.note;
}

// Key: what a trial is sorted by; a number that is unknown comes last.
struct Key {
  double number = 0;
  std::string_view text = {};
};

Key key_of(const ShownTrial& trial, const std::string& sort) {
  if (sort == "state") return {0, trial.state};
  if (sort == "algorithm") return {0, trial.algorithm};
  if (sort == "epochs") return {trial.epochs};
  if (sort == "device_s") return {trial.device_s};
  if (sort == "params") return {trial.params_count};
  if (sort == "duration_s")
    return {trial.started_s && trial.finished_s ? *trial.finished_s - *trial.started_s
                                                : std::nan("")};
  if (sort.starts_with("value") && sort.size() == 6) {
    const auto k = static_cast<std::size_t>(sort[5] - '0');
    return {k < trial.values.size() ? trial.values[k] : std::nan("")};
  }
  return {static_cast<double>(trial.trial)};
}

bool comes_first(const Key& a, const Key& b, bool is_descending) {
  if (std::isnan(a.number) || std::isnan(b.number)) return !std::isnan(a.number);
  if (a.number != b.number) return is_descending ? a.number > b.number : a.number < b.number;
  return is_descending ? a.text > b.text : a.text < b.text;
}

// A proposal that was recorded and never tried has nothing to show, and comes last.
bool is_tried(const ShownTrial& trial) {
  return trial.state != "WAITING" || !trial.attempts.empty() || trial.epochs > 0;
}

bool are_equal(const Key& a, const Key& b) {
  return (std::isnan(a.number) && std::isnan(b.number)) ||
         (a.number == b.number && a.text == b.text);
}

}  // namespace

std::vector<std::size_t> page_of_trials(const ReportSource& source, const Trials& trials,
                                        const TrialQuery& query, std::size_t& matching) {
  const std::string words = lower(query.words);
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < trials.size(); ++i)
    if (words.empty() || lower(texts_of(source, trials[i])).find(words) != std::string::npos)
      order.push_back(i);
  matching = order.size();
  const std::size_t first = std::min(query.page, matching / kTrialsOfPage) * kTrialsOfPage;
  const std::size_t last = std::min(matching, first + kTrialsOfPage);
  const auto begin = order.begin();
  std::partial_sort(begin, begin + static_cast<std::ptrdiff_t>(last), order.end(),
                    [&](std::size_t i, std::size_t j) {
                      const bool is_first_tried = is_tried(trials[i]);
                      if (is_first_tried != is_tried(trials[j])) return is_first_tried;
                      const Key a = key_of(trials[i], query.sort),
                                b = key_of(trials[j], query.sort);
                      if (are_equal(a, b)) return i < j;
                      return comes_first(a, b, query.is_descending);
                    });
  return {begin + static_cast<std::ptrdiff_t>(first), begin + static_cast<std::ptrdiff_t>(last)};
}

}  // namespace detol::inline report
