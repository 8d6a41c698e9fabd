#include "studies/compared_studies.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "core/log.h"
#include "studies/trial_summary.h"
#include "surrogate/comparison.h"

namespace detol::inline studies {
namespace {

constexpr double kConfidence = 0.95;  // of all comparisons together
constexpr std::array<std::size_t, 4> kPercents = {25, 50, 75, 100};

// Contender is a study with the losses of its finished trials.
struct Contender {
  StudyRecord record;
  std::vector<double> losses;
  Cell device_hours;
};

const Objective& objective_of(const Contender& contender) {
  return contender.record.objectives.front();
}

Result<Contender> contender_of(OpenStudy& study, const std::string& name) {
  DETOL_ASSIGN(study.record, study.reader->study(name));
  Contender contender{.record = study.record, .losses = {}, .device_hours = {}};
  DETOL_ASSIGN(const auto trials, finished_trials(study));
  for (const TrialSummary& one : trials) {
    const double value = metric_of(one, objective_of(contender).metric);
    if (std::isfinite(value))
      contender.losses.push_back(to_loss(objective_of(contender).direction, value));
  }
  if (contender.losses.empty()) return nothing_reported(study);
  DETOL_ASSIGN(const Rows time,
               study.reader->select(
                   "SELECT device_seconds / 3600.0 FROM v_studies WHERE study = ?1", {name}));
  contender.device_hours = time.rows.front().front();
  return contender;
}

// Errors (kUsage): the studies have different objectives. Warns if they have different data.
Result<void> check_comparable(const std::vector<Contender>& contenders) {
  const Contender& first = contenders.front();
  for (const Contender& other : contenders) {
    const Objective &a = objective_of(first), &b = objective_of(other);
    if (a.metric != b.metric || a.direction != b.direction) {
      const auto words = [](const Objective& objective) {
        return fmt::format("{} {}",
                           objective.direction == Direction::kMinimize ? "minimizes" : "maximizes",
                           objective.metric);
      };
      return fail(ErrorCode::kUsage,
                  fmt::format("{} {}, {} {}; compare studies of one objective", first.record.name,
                              words(a), other.record.name, words(b)));
    }
    if (first.record.data_fingerprint != other.record.data_fingerprint)
      log_warning("{} and {} were scored on different data; their values may not be comparable",
                  first.record.name, other.record.name);
  }
  return {};
}

// Returns 25, 50, 75 and 100 % of the trials of the smallest study, at least one each.
std::vector<std::size_t> common_counts(const std::vector<Contender>& contenders) {
  std::size_t smallest = contenders.front().losses.size();
  for (const Contender& one : contenders) smallest = std::min(smallest, one.losses.size());
  std::vector<std::size_t> counts;
  for (const std::size_t percent : kPercents)
    counts.push_back(std::max<std::size_t>(1, smallest * percent / 100));
  return counts;
}

std::string verdict_of(const Superiority& against_first) {
  if (against_first.low > 0.5) return "better";
  return against_first.high < 0.5 ? "worse" : "undecided";
}

std::vector<Cell> row_of(const Contender& contender, const Contender& first,
                         const std::vector<std::size_t>& counts, double confidence) {
  const Progress progress = progress_of(contender.losses, counts);
  const auto value = [&](double loss) {  // to_loss is its own inverse
    return Cell(to_loss(objective_of(contender).direction, loss));
  };
  std::vector<Cell> row = {contender.record.name,
                           static_cast<std::int64_t>(contender.losses.size()), value(progress.best),
                           static_cast<std::int64_t>(progress.trials_to_best),
                           contender.device_hours};
  for (const double best : progress.best_at) row.push_back(value(best));
  if (&contender == &first) {
    row.resize(row.size() + 4);
    return row;
  }
  const Superiority result = superiority(contender.losses, first.losses, confidence);
  row.insert(row.end(), {result.probability, result.low, result.high, verdict_of(result)});
  return row;
}

}  // namespace

Result<ComparedStudies> compare_studies(const std::string& storage,
                                        const std::vector<std::string>& names) {
  std::vector<std::string> distinct = names;
  std::ranges::sort(distinct);
  if (names.size() < 2 || std::ranges::adjacent_find(distinct) != distinct.end())
    return fail(ErrorCode::kUsage, "compare takes two or more different studies (detol studies)");
  DETOL_ASSIGN(OpenStudy study, open_study(storage, names.front()));
  std::vector<Contender> contenders;
  for (const std::string& name : names) {
    DETOL_ASSIGN(contenders.emplace_back(), contender_of(study, name));
  }
  DETOL_TRY(check_comparable(contenders));
  ComparedStudies compared{
      .rows = {.columns = {"study", "trials", "best", "trials_to_best", "device_hours", "best_25",
                           "best_50", "best_75", "best_100", "p_better", "p_low", "p_high",
                           "verdict"},
               .rows = {}},
      .counts = common_counts(contenders)};
  const double comparisons = static_cast<double>(names.size() - 1);
  for (const Contender& contender : contenders)
    compared.rows.rows.push_back(row_of(contender, contenders.front(), compared.counts,
                                        1 - (1 - kConfidence) / comparisons));
  return compared;
}

}  // namespace detol::inline studies
