#include "scheduler/run/group_size.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <variant>

#include "core/log.h"
#include "scheduler/budget.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/mpi.h"
#include "scheduler/launchers/remote.h"
#include "scheduler/study_state.h"
#include "trainer/backends.h"

namespace detol::inline scheduler {
namespace {

constexpr double kLeastEfficiency = 0.5;
constexpr int kMostGrowth = 2;      // beyond the largest size that was measured
constexpr double kLeastRounds = 3;  // trials of full length, one after the other, in the time left

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  return *middle;
}

// Returns the batch size if the study varies it, else 1.
double batch_of(const event::Asked& asked) {
  for (const auto& [name, value] : asked.params) {
    const auto* batch = std::get_if<std::int64_t>(&value);
    if (name == "batch_size" && batch != nullptr) return static_cast<double>(*batch);
  }
  return 1;
}

// What was reported of a trial so far.
struct Course {
  double batch = 1;
  int ranks = 1;
  double work = 0;
  double epochs = 0;
  std::map<int, MeasuredTime> times = {};  // by ranks

  void take(const event::Reported& reported) {
    const double more = reported.work - work;
    if (more > 0 && reported.train_s > 0) {
      MeasuredTime& time = times.try_emplace(ranks, MeasuredTime{0, batch, ranks, 0}).first->second;
      time.work += more;
      time.wall_s += reported.train_s / ranks;
    }
    work = reported.work;
    epochs = reported.epochs();
  }
};

// What the knowledge base says of the study that a run is to begin or to resume.
struct Known {
  std::vector<Event> events;         // the study's; none of a new one
  std::vector<Event> measured_with;  // of the study whose times count: this, or a like one
  Budget budget = {};
};

// Returns the events of the newest other study that was trained by the same backend.
std::vector<Event> events_of_another(Reader& reader, const std::string& backend) {
  auto studies = reader.studies();
  if (!studies) return {};
  std::ranges::sort(*studies, std::ranges::greater(), &StudyRecord::created_s);
  for (const StudyRecord& study : *studies) {
    auto events = reader.events(study.id);
    const auto is_of_backend = [&](const Event& event) {
      const auto* state = std::get_if<event::StudyState>(&event);
      return state != nullptr && present_name(state->backend) == backend;
    };
    if (events && std::ranges::any_of(*events, is_of_backend) &&
        !group_times_of(*events).times.empty())
      return *std::move(events);
  }
  return {};
}

// Returns the budget of a study that is new. REQUIRES: the config's has been checked.
Budget fresh_budget(const RunOptions& options) {
  if (options.budget) return options.budget->limits;
  return budget_in_force(options.config.budget).value_or(Budget{});
}

Result<Known> known_of(const RunOptions& options) {
  const bool may_exist = options.resume || options.if_exists == IfExists::kResume;
  DETOL_ASSIGN(const auto reader, Reader::open(options.storage));
  const auto record = reader->study(options.config.study);
  if (!record || !may_exist) {
    return Known{.events = {},
                 .measured_with = events_of_another(*reader, options.backend),
                 .budget = fresh_budget(options)};
  }
  DETOL_ASSIGN(std::vector<Event> events, reader->events(record->id));
  DETOL_ASSIGN(Budget budget, budget_in_force(record->budget));
  if (options.budget) {
    DETOL_ASSIGN(budget, extended(budget, *options.budget));
  }
  return Known{.events = events, .measured_with = events, .budget = budget};
}

// Returns the devices of each machine on which the run's workers train; none if another program
// has placed them already.
std::vector<int> devices_by_machine(const RunOptions& options) {
  if (options.launcher == Launcher::kSlurm) return slurm_devices(options);
  const auto job = mpi_job(options);
  if (is_remote(options.launcher) || !job || job->has_value()) return {};
  RunOptions alone = options;
  alone.workers = kAutoWorkers;
  alone.sharing = alone.group_size = 1;
  return {workers_of(alone)};
}

}  // namespace

GroupTimes group_times_of(std::span<const Event> events) {
  GroupTimes all;
  std::map<TrialId, Course> courses;
  for (const Event& event : events) {
    if (const auto* asked = std::get_if<event::Asked>(&event)) {
      courses[asked->trial].batch = batch_of(*asked);
    } else if (const auto* started = std::get_if<event::Started>(&event)) {
      all.last_ranks = courses[started->trial].ranks = std::max(1, started->group_size);
    } else if (const auto* reported = std::get_if<event::Reported>(&event)) {
      courses[reported->trial].take(*reported);
    }
  }
  std::vector<double> works;
  for (const auto& [trial, course] : courses) {
    for (const auto& [ranks, time] : course.times) all.times.push_back(time);
    if (course.work > 0 && course.epochs > 0) works.push_back(course.work / course.epochs);
  }
  all.epoch_work = median(std::move(works));
  return all;
}

int best_group_size(const GroupScaling& scaling, const RemainingSearch& left) {
  const int tried = scaling.sizes().empty() ? 1 : scaling.sizes().rbegin()->first;
  const int widest =
      std::min({left.widest, left.devices / std::max(1, left.workers), kMostGrowth * tried});
  const bool is_timed = left.epoch_work > 0 && !scaling.sizes().empty();
  int best = 1;
  double best_rounds = 0, best_s = 0;  // trials in a row that end in time; until all trials end
  for (int size = 1; size <= std::max(1, widest); ++size) {
    if (scaling.strong_efficiency(size).mean < kLeastEfficiency) break;
    const int workers = left.workers > 0 ? left.workers : left.devices / size;
    const double trial_s =
        is_timed ? left.epochs * scaling.wall_s(left.epoch_work, size) : 1 / scaling.speed(size);
    const double rounds = is_timed ? std::min(kLeastRounds, left.wall_s / trial_s) : kLeastRounds;
    // Where there is no end of trials: the time for one of them, with all devices at work.
    const double all_s =
        std::isfinite(left.trials) ? std::ceil(left.trials / workers) * trial_s : trial_s / workers;
    const bool is_better = rounds > best_rounds || (rounds == best_rounds && all_s < best_s);
    if (size > 1 && !is_better) continue;
    best = size;
    best_rounds = rounds;
    best_s = all_s;
  }
  return best;
}

Result<RemainingSearch> remaining_search(const StudyConfig& config, std::span<const Event> events,
                                         const Budget& limits, int devices) {
  RemainingSearch left{
      .devices = devices, .workers = config.resources.workers, .epochs = config.max_epochs};
  StudyState state(config.space, config.objectives);
  for (const Event& event : events) DETOL_TRY(state.apply(event));
  const Spent spent = state.spent();
  if (limits.trials) left.trials = std::max(1.0, *limits.trials - spent.trials);
  if (limits.wall_s) left.wall_s = std::max(0.0, *limits.wall_s - spent.wall_s);
  for (const auto& device_s : {limits.cpu_s, limits.gpu_s}) {
    if (!device_s) continue;
    const double left_s = std::max(0.0, *device_s - spent.device_s) / std::max(1, devices);
    left.wall_s = std::min(left.wall_s, left_s);
  }
  return left;
}

RunOptions with_group_size(RunOptions options) {
  const StudyConfig& config = options.config;
  const bool is_open = options.group_size == 0 && options.workers != kNoWorkers &&
                       config.resources.group_size == 0 && config.trains() && !config.deterministic;
  if (!is_open) return options;
  const std::vector<int> machines = devices_by_machine(options);
  const int devices = std::accumulate(machines.begin(), machines.end(), 0);
  if (devices <= 1) return options;
  const Known known = known_of(options).value_or(
      Known{.events = {}, .measured_with = {}, .budget = fresh_budget(options)});
  auto left = remaining_search(config, known.events, known.budget, devices);
  if (!left) return options;
  const GroupTimes measured = group_times_of(known.measured_with);
  left->widest = std::ranges::max(machines);
  left->epoch_work = measured.epoch_work;
  if (options.workers == kAutoWorkers) left->workers = 0;
  if (options.workers > 0) left->workers = options.workers;
  const GroupScaling scaling(measured.times);
  const int size = best_group_size(scaling, *left);
  if (size == 1 || !check_launcher(size)) return options;
  options.group_size = size;
  if (scaling.has_compared()) {
    log_info("group-size auto: {} ranks train a trial together, by measured times", size);
  } else {
    log_warning(
        "group-size auto: {} ranks train a trial together, by what groups usually reach ({:.0f} % "
        "of their ranks' time): no two sizes were measured; `--group-size 1` trains without",
        size, 100 * scaling.strong_efficiency(size).mean);
  }
  return options;
}

}  // namespace detol::inline scheduler
