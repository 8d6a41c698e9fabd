#include "scheduler/simulation/simulated_budgets.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/log.h"

namespace detol::inline scheduler {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kHour = 3600;

// Returns the group size that suits the budget on as many devices, if groups of two sizes were
// measured.
Result<Cell> advised_group_size(const SimulationSettings& settings, const GroupTimes& measured) {
  const GroupScaling scaling(measured.times);
  if (!scaling.has_compared()) return Cell();
  StudyConfig config = settings.config;
  config.resources.workers = 0;
  DETOL_ASSIGN(RemainingSearch left, remaining_search(config, {}, settings.budget,
                                                      settings.workers * settings.group_size));
  left.epoch_work = measured.epoch_work;
  return Cell(std::int64_t{best_group_size(scaling, left)});
}

// Returns the best values over the device time: the last improvement in each part of it.
std::string series_of(const SimulationReport& report, int parts) {
  Json points = Json::array();
  const auto& all = report.improvements;
  const auto part_of = [&](const Improvement& one) {
    return std::floor(one.device_s / report.device_s * parts);
  };
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool is_last = i + 1 == all.size() || part_of(all[i]) < part_of(all[i + 1]);
    if (is_last) points.push_back({{"device_h", all[i].device_s / kHour}, {"value", all[i].value}});
  }
  return compact(points);
}

std::vector<Cell> row_of(const Budget& budget, const SimulationReport& r, const Cell& advised,
                         int points) {
  const double wall_s = std::max(r.wall_s, 1e-9);
  const auto per_s = [&](std::int64_t count) { return static_cast<double>(count) / wall_s; };
  const auto proposals = static_cast<double>(std::max<std::int64_t>(1, r.proposals));
  const bool has_best = !r.improvements.empty();
  return {to_text(budget),
          r.utilization(),
          has_best ? Cell(r.improvements.back().value) : Cell(),
          has_best ? Cell(static_cast<std::int64_t>(r.improvements.back().trial)) : Cell(),
          r.device_s / kHour,
          r.wall_s / kHour,
          r.work,
          std::int64_t{r.trained},
          std::int64_t{r.finished},
          std::int64_t{r.pruned},
          std::int64_t{r.failed},
          std::int64_t{r.asked - r.trained},
          r.losses,
          per_s(r.messages),
          per_s(r.commits),
          r.events,
          static_cast<double>(r.fresh) / std::max(1, r.asked),
          static_cast<double>(r.fallbacks) / std::max(1, r.asked),
          r.real_master_s / wall_s,
          r.real_decision_p50_s * 1e3,
          r.real_decision_p99_s * 1e3,
          r.real_asking_s / proposals * 1e3,
          static_cast<double>(r.peak_bytes) / 1e6,
          advised,
          series_of(r, points)};
}

}  // namespace

Result<void> take_curves_of(const std::string& storage, const std::string& study,
                            SimulationSettings& settings, GroupTimes& measured) {
  DETOL_ASSIGN(const auto reader, Reader::open(storage));
  DETOL_ASSIGN(const StudyRecord record, reader->study(study));
  DETOL_ASSIGN(const std::vector<Event> events, reader->events(record.id));
  measured = group_times_of(events);
  const GroupScaling scaling(measured.times);
  settings.curves = curves_of(events, [&](int ranks) { return scaling.speed(ranks); });
  if (settings.curves->trials.empty())
    return fail(ErrorCode::kInput, fmt::format("study '{}' has no trial that reported", study));
  settings.pace.group_speed = scaling.speed(settings.group_size);
  return {};
}

Result<Simulated> simulate_all(SimulationSettings settings, const GroupTimes& measured,
                               const std::vector<Budget>& budgets, int points) {
  Simulated done{
      .rows = {
          .columns = {"budget",          "utilization",    "best",           "best_trial",
                      "device_h",        "wall_h",         "work",           "trained",
                      "finished",        "pruned",         "failed",         "known_or_waiting",
                      "lost_workers",    "messages_per_s", "commits_per_s",  "events",
                      "fresh_share",     "fallback_share", "master_s_per_s", "decision_ms_p50",
                      "decision_ms_p99", "ask_ms",         "peak_mb",        "advised_group_size",
                      "best_so_far"},
          .rows = {}}};
  for (const Budget& budget : budgets) {
    settings.budget = budget;
    DETOL_ASSIGN(const SimulationReport report, simulate(settings));
    DETOL_ASSIGN(const Cell advised, advised_group_size(settings, measured));
    done.rows.rows.push_back(row_of(budget, report, advised, points));
    const std::string& ended = report.ended;  // without what a resume would do
    if (report.has_failed)
      log_warning("{}: {}", to_text(budget), ended);
    else
      log_info("{}: {}", to_text(budget), ended.substr(0, ended.find(';')));
    done.has_failed = done.has_failed || report.has_failed;
  }
  return done;
}

}  // namespace detol::inline scheduler
