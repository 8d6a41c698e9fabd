#include "scheduler/run/master.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "core/durable_file.h"
#include "core/fault.h"
#include "core/hash.h"
#include "core/log.h"
#include "core/table.h"
#include "knowledge/artefacts.h"
#include "knowledge/ledger.h"
#include "knowledge/requests.h"
#include "knowledge/studies.h"
#include "scheduler/asking/ask_lines.h"
#include "scheduler/asking/callers.h"
#include "scheduler/budget.h"
#include "scheduler/driver.h"
#include "scheduler/launchers/gpus.h"
#include "scheduler/launchers/local.h"
#include "scheduler/launchers/mpi.h"
#include "scheduler/launchers/rendezvous.h"
#include "scheduler/monitor/live_view.h"
#include "scheduler/monitor/progress.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/processes/worker_pool.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/run/checkpoint_retention.h"
#include "scheduler/run/dataset_facts.h"
#include "scheduler/run/inheritance.h"
#include "scheduler/run/run_candidates.h"
#include "scheduler/run/run_facts.h"
#include "scheduler/run/shared_pool.h"
#include "scheduler/search_parts.h"
#include "scheduler/study_opening.h"
#include "scheduler/warm_start.h"
#include "search/searcher.h"
#include "trainer/backends.h"

namespace detol::inline scheduler {
namespace {

// The study of a run, opened for writing.
struct Run {
  std::unique_ptr<Ledger> ledger;
  ResolvedStudy resolved;
  bool is_restart = false;  // an earlier master of this run died
  StudyRecord record;
  std::vector<Event> events;   // before this master
  std::vector<Event> opening;  // the first events of this master
  StudyConfig config;          // what the study began with
  Budget budget;
  double counted_until_s = 0;  // wall and device time are in the ledger up to here
  std::filesystem::path folder;
  std::filesystem::path artefacts;  // of the study
};

// Parts are made before anything exists on disk, so that most errors of a user are found first.
struct Parts {
  DatasetInfo data;
  std::unique_ptr<Searcher> searcher;
  SearchParts search;
};

Result<Parts> make_parts(const StudyConfig& config, const TestHooks& hooks) {
  Parts parts;
  DETOL_TRY(hooks.make_searcher(config, {}));  // its errors come before anything exists
  DETOL_ASSIGN(parts.search, assemble_search(config));
  DETOL_ASSIGN(parts.data, hooks.inspect(config));
  return parts;
}

std::unique_ptr<Progress> progress_for(const RunOptions& options, const Run& run,
                                       pid_t supervisor) {
  const StudyMonitor::Study study{.name = run.config.study,
                                  .objectives = run.config.objectives,
                                  .max_epochs = run.config.max_epochs,
                                  .budget = run.budget,
                                  .sharing = ranks_per_gpu(options),
                                  .repeats = run.config.repeats};
  switch (options.progress) {
    case ProgressMode::kNone:
      return nullptr;
    case ProgressMode::kPlain:
      return make_progress_lines(study, system_clock(), LinesFor::kTime);
    case ProgressMode::kEvents:
      return make_progress_lines(study, system_clock(), LinesFor::kEvents);
    case ProgressMode::kLive:
      break;
  }
  return make_live_view(study,
                        {.stderr_file = stderr_file_in(run.folder),
                         .state_file = run.folder / "frame",
                         .color = options.color,
                         .owner = supervisor},
                        system_clock());
}

// Returns the reason of paused trials: the study's pruner if it pauses trials, else empty.
std::string pausing_pruner(const StudyConfig& config) {
  const PrunerRow* row = find_row(pruners(), config.pruner.name);
  return row != nullptr && row->pauses ? config.pruner.name : "";
}

// Returns the time up to which wall and device time are in the ledger: now, or the last time that
// an earlier master of this run accounted for.
Result<double> counted_until(const std::vector<Event>& events,
                             const std::filesystem::path& folder) {
  double used_s = 0;
  for (const Event& event : events) {
    if (const auto* accounted = std::get_if<event::Accounted>(&event)) used_s = accounted->wall_s;
  }
  DETOL_ASSIGN(const double zero_s, wall_zero_s(folder, used_s, system_clock().now_s()));
  return zero_s + used_s;
}

// Returns from where workers may join: the ranks of an MPI job are maybe on other machines.
Reach reach_of(const RunOptions& options) {
  if (options.listens_to_network) return Reach::kNetwork;
  if (options.rendezvous.empty()) return Reach::kSocket;
  return is_whole_job_here() ? Reach::kLoopback : Reach::kNetwork;
}

// Publishes where workers find this master that the supervisor did not start.
Result<void> let_join(const RunOptions& options, const Run& run, WorkerPoolSettings& settings) {
  DETOL_ASSIGN(RendezvousInfo rendezvous, rendezvous_info(run.folder, reach_of(options)));
  rendezvous.group_size = ranks_of(options);
  rendezvous.takes_other_sizes = !options.config.deterministic;
  rendezvous.backend = options.backend;
  rendezvous.runs_programs = options.config.command.has_value();
  settings.tcp_endpoint = tcp_endpoint_of(rendezvous);
  settings.keys = rendezvous.keys;
  settings.registry.key = rendezvous.key;
  std::error_code ignored;
  std::filesystem::create_directories(run.artefacts, ignored);
  remove_unfinished(run.artefacts / kJoinFile);  // of a master that was killed as it published
  DETOL_TRY(publish(rendezvous, run.artefacts / kJoinFile));
  if (options.rendezvous.empty()) return {};
  return publish(rendezvous, options.rendezvous);
}

// Warns if the backend has changed: the new one rounds differently and resumes no checkpoint.
void warn_of_another_backend(const std::vector<Event>& events, const std::string& backend) {
  std::string before;
  for (const Event& event : events) {
    const auto* state = std::get_if<event::StudyState>(&event);
    if (state != nullptr && !state->backend.empty()) before = present_name(state->backend);
  }
  if (before.empty() || before == backend) return;
  log_warning(
      "the study was trained by {}, now by {}: numbers differ by rounding, and trials that had "
      "begun begin again",
      before, backend);
}

// Stores what the data are like, unless it is known. A search does without.
void describe_data(Ledger& ledger, const DataConfig& config, const DatasetInfo& data) {
  if (data.sample == nullptr) return;
  const auto known = ledger.fact(kDatasetFact, to_hex(data.fingerprint));
  if (!known || known->has_value()) return;
  const Fact fact = dataset_fact(config, data);
  if (auto stored = ledger.record_facts({&fact, 1}); !stored)
    log_warning("{}; what the data are like is not stored", stored.error().message);
}

Result<Run> open_run(const RunOptions& options, const std::filesystem::path& folder,
                     const DatasetInfo& data) {
  Run run;
  run.folder = folder;
  DETOL_ASSIGN(run.ledger, Ledger::open(options.storage));
  DETOL_ASSIGN(std::optional<ResolvedStudy> resolved, read_resolved_run(folder));
  run.is_restart = resolved.has_value();
  if (!run.is_restart) {
    DETOL_ASSIGN(resolved, resolve_study(*run.ledger, {.config = options.config,
                                                       .storage = options.storage,
                                                       .budget = options.budget,
                                                       .if_exists = options.if_exists,
                                                       .resume = options.resume}));
    fault_or_throw("master.settle");
    DETOL_TRY(write_resolved_run(folder, *resolved));
  }
  run.resolved = *std::move(resolved);
  fault_or_throw("master.study");
  DETOL_ASSIGN(run.record,
               open_or_create(*run.ledger, options.config, run.resolved, data.fingerprint));
  DETOL_ASSIGN(run.events, run.ledger->events(run.record.id));
  describe_data(*run.ledger, options.config.data, data);
  if (run.events.empty()) {
    DETOL_ASSIGN(auto sources, choose_sources(*run.ledger, run.record, options.config));
    for (event::Source& source : sources) run.opening.emplace_back(std::move(source));
  }
  warn_of_another_backend(run.events, options.backend);
  const double now_s = system_clock().wall_s();
  run.opening.emplace_back(event::StudyState{StudyPhase::kRunning, run.resolved.budget, now_s,
                                             options.config.trains() ? options.backend : "",
                                             run.resolved.config});
  std::vector<Fact> facts;
  if (!run.is_restart) facts = run_facts(options, run.record.name, now_s);
  DETOL_TRY(run.ledger->append(run.record.id, run.opening, facts));
  return run;
}

// Returns the number of GPUs that the workers of this machine share; 0: each rank holds a device of
// its own.
int gpus_of(const RunOptions& options) {
  const bool are_here = options.rendezvous.empty() && !is_remote(options.launcher);
  return are_here ? static_cast<int>(options.gpus.size()) : 0;
}

// Takes from the ledger what the study began with and has used, and makes its searcher of that.
Result<void> take_up(Run& run, Parts& parts, const RunOptions& options, const TestHooks& hooks) {
  DETOL_ASSIGN(auto sources, sources_of(run.events.empty() ? run.opening : run.events));
  DETOL_ASSIGN(run.config, for_begun_study(options.config, run.record.config));
  DETOL_ASSIGN(
      parts.searcher,
      hooks.make_searcher(run.config, {.sources = std::move(sources),
                                       .preserves = make_preserves(run.config, parts.data.task)}));
  run.config.study = run.resolved.study;
  DETOL_ASSIGN(run.budget, budget_in_force(run.resolved.budget));
  DETOL_ASSIGN(run.counted_until_s, counted_until(run.events, run.folder));
  run.artefacts = artefact_folder(options.storage, run.config.study);
  return {};
}

Result<std::unique_ptr<Pool>> open_pool(const RunOptions& options, const Run& run, const Task& task,
                                        int supervisor, Callers& callers) {
  const bool is_mpi_job = !options.rendezvous.empty();  // its ranks join
  WorkerPoolSettings settings{.endpoint = endpoint_in(run.folder),
                              .registry = {.workers = is_mpi_job ? 0 : workers_of(options),
                                           .group_size = ranks_of(options),
                                           .takes_other_sizes = !options.config.deterministic,
                                           .gpus = gpus_of(options),
                                           .is_remote = is_remote(options.launcher),
                                           .supervisor = supervisor,
                                           .folder = run.folder,
                                           .counted_until_s = run.counted_until_s},
                              .setup = {run.config.text, options.backend, task},
                              .is_restart = run.is_restart,
                              .on_call = [&](const message::Call& one, auto answer) {
                                call(callers, run.config, one.line, one.caller, std::move(answer));
                              }};
  DETOL_TRY(let_join(options, run, settings));
  return make_worker_pool(std::move(settings), system_clock());
}

RunCandidatesSettings candidate_settings(const RunOptions& options, const Run& run,
                                         const DatasetInfo& data, Admission admit) {
  return {.config = run.config,
          .data = data,
          .ledger = *run.ledger,
          .study = run.record.id,
          .backend = options.backend,
          .ranks = ranks_of(options),
          .storage = options.storage,
          .artefacts = run.artefacts,
          .admit = std::move(admit)};
}

void remove_requests(const std::filesystem::path& artefacts) {
  for (const RunRequest& request : requests_in(artefacts)) remove_request(artefacts, request);
}

// Removes a request whose events are durable. A master that replaces this one begins with the
// budget of the run's folder.
void answered(const RunRequest& request, const Run& run) {
  if (request.kind == RunRequest::kBudget) {
    ResolvedStudy resolved = run.resolved;
    resolved.budget = request.budget;
    if (const auto written = write_resolved_run(run.folder, resolved); !written)
      log_warning("{}; a master that is started again has the earlier budget",
                  written.error().message);
  }
  remove_request(run.artefacts, request);
}

// Answers callers who get no trial in a turn.
class Settling final : public Observer {
 public:
  explicit Settling(Callers& callers) : callers_(callers) {}

  void happened(const Event&, const StudyState&) override {}
  void turned(const StudyState&, const Standing&) override { callers_.settle(*driver); }

  const Driver* driver = nullptr;

 private:
  Callers& callers_;
};

}  // namespace

Result<void> run_master(const RunOptions& options, const std::filesystem::path& folder,
                        const SupervisorConnection& supervisor, const TestHooks& hooks) {
  fault_or_throw("master.start");
  DETOL_ASSIGN(Parts parts, make_parts(options.config, hooks));
  DETOL_ASSIGN(Run run, open_run(options, folder, parts.data));
  DETOL_TRY(take_up(run, parts, options, hooks));
  const StudyConfig& config = run.config;
  Callers callers(config, system_clock(), [] {});
  DETOL_ASSIGN(const auto workers,
               open_pool(options, run, parts.data.task, supervisor.socket, callers));
  SharedPool pool(*workers, callers);
  if (options.workers == kNoWorkers && !run.is_restart)
    log_warning("study {} waits for workers: start them with `detol worker --join {}`",
                config.study, config.study);
  if (!run.is_restart) remove_requests(run.artefacts);  // they were for an earlier run
  DETOL_ASSIGN(Admission admit, make_admission(config));
  RunCandidates candidates(candidate_settings(options, run, parts.data, std::move(admit)));
  const auto retention = make_checkpoint_retention(
      {run.artefacts, pausing_pruner(config), config.inherit == Inherit::kNone ? 0 : kKeptParents});
  const auto progress = progress_for(options, run, supervisor.pid);
  Settling settling(callers);
  std::vector<Observer*> observers = {retention.get(), &settling};
  if (progress) observers.push_back(progress.get());
  Driver driver({.config = config,
                 .candidates = candidates,
                 .ledger = *run.ledger,
                 .study = run.record.id,
                 .searcher = *parts.searcher,
                 .pruner = *parts.search.pruner,
                 .pool = pool,
                 .clock = system_clock(),
                 .observers = observers,
                 .budget = run.budget,
                 .target = options.target,
                 .folder = run.artefacts,
                 .initial = parts.search.initial,
                 .refits = Refits::kBeside,
                 .asks = {.asks = Asks::kBeside, .fallback = parts.search.fallback.get()},
                 .retry_failed = options.retry_failed && !run.is_restart,
                 .counted_until_s = run.counted_until_s,
                 .requests = [&] { return requests_in(run.artefacts); },
                 .answered = [&](const RunRequest& request) { answered(request, run); }});
  DETOL_TRY(driver.replay(run.events));
  callers.attach(driver.state(), run.events);
  settling.driver = &driver;
  if (progress) {
    for (const Event& event : run.events) progress->recall(event);
    progress->recall(run.opening.back());
  }
  const Result<std::string> why = driver.run();
  callers.end({ErrorCode::kUsage, why ? *why : why.error().message});
  remove_requests(run.artefacts);  // last, so that a restarted master sees them
  if (progress) progress->end(why.value_or(""), driver.state());
  return why.map([](const std::string&) {});
}

}  // namespace detol::inline scheduler
