#include "scheduler/asking/study_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <mutex>
#include <optional>
#include <set>
#include <utility>

#include "core/clock.h"
#include "knowledge/artefacts.h"
#include "knowledge/ledger.h"
#include "scheduler/driver.h"
#include "scheduler/network_facts.h"
#include "scheduler/pruners/pruner.h"
#include "scheduler/report_metrics.h"
#include "scheduler/search_parts.h"
#include "scheduler/warm_start.h"

namespace detol::inline scheduler {
namespace {

const Error kClosed{ErrorCode::kUsage, "the study is closed"};
constexpr double kTurnS = 0.1;  // of the driver while the study is closed
constexpr auto kTryAgain =
    std::chrono::milliseconds(5);  // to lock a study that another process has

// Calls `open` until it succeeds, fails for another reason than another process, or patience is
// over.
template <typename Open>
auto patiently(const StudyServiceSettings& settings, const Open& open) {
  const double until_s = system_clock().now_s() + settings.patience_s;
  for (;;) {
    auto opened = open();
    if (opened) return opened;
    const bool begins = settings.if_exists == IfExists::kResume && !settings.must_exist;
    const bool is_over = system_clock().now_s() >= until_s;
    if (is_over || !may_be_opened_soon(opened.error(), begins)) return opened;
    std::this_thread::sleep_for(kTryAgain);
  }
}

std::mutex& mutex_of_databases() {
  static std::mutex one;
  return one;
}

std::set<std::string>& open_databases() {
  static std::set<std::string> names;
  return names;
}

}  // namespace

// AskedCandidates: those that callers evaluate.
class AskedCandidates final : public Candidates {
 public:
  // The config outlives this object, and does not change once it is asked.
  explicit AskedCandidates(const StudyConfig& config) : config_(config) {}

  Decoded decode(const Genome& genome) override { return config_.candidate(genome, Task{}); }
  NamedMetrics cost_metrics(const Genome& genome) override {
    const auto costs = network_costs_of(config_);
    if (!costs) return {};
    const Decoded candidate = decode(genome);
    return candidate ? costs(*candidate) : NamedMetrics();
  }
  std::optional<Fact> network_fact(const Candidate& candidate) override {
    return networks_.describe(candidate);
  }

 private:
  const StudyConfig& config_;
  NetworkFacts networks_;
};

// Database: one that a study of this process has opened. The locks of a database are of the
// process, so that a second ledger would take away the first one's.
class StudyService::Database {
 public:
  static Result<std::unique_ptr<Database>> claim(const std::filesystem::path& path) {
    std::error_code ignored;
    std::string name = std::filesystem::weakly_canonical(path, ignored).string();
    const std::lock_guard lock(mutex_of_databases());
    if (!open_databases().insert(name).second)
      return fail(ErrorCode::kUsage,
                  fmt::format("this process has a study of {} open already; close that one first, "
                              "or keep this one in another file",
                              path.string()));
    return std::unique_ptr<Database>(new Database(std::move(name)));
  }
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;
  ~Database() {
    const std::lock_guard lock(mutex_of_databases());
    open_databases().erase(name_);
  }

 private:
  explicit Database(std::string name) : name_(std::move(name)) {}

  const std::string name_;
};

struct StudyService::Parts {
  explicit Parts(std::unique_ptr<Database> opened, const StudyConfig& of)
      : database(std::move(opened)), config(of) {}

  std::unique_ptr<Database> database;
  StudyConfig config;
  std::unique_ptr<Ledger> ledger;
  StudyRecord record;
  std::vector<Event> events;  // of earlier runs; emptied after the replay
  std::unique_ptr<Searcher> searcher;
  SearchParts search;
  AskedCandidates candidates{config};
  std::optional<Callers> callers;
  std::optional<Driver> driver;
  std::atomic<bool> is_closing = false;
  std::mutex turning;                       // of the driver, and of the next two
  Result<std::string> end = std::string();  // how the run has ended
  double wait_s = 0;                        // until the next turn
  std::size_t ended_before = 0;             // trials, when the study was opened

  Result<void> open_ledger(const StudyServiceSettings& settings);
  Result<void> make_driver(const StudyServiceSettings& settings);
  bool turn();
  Result<std::string> finish();
};

Result<void> StudyService::Parts::open_ledger(const StudyServiceSettings& settings) {
  DETOL_ASSIGN(ledger, Ledger::open(settings.storage));
  DETOL_ASSIGN(const ResolvedStudy resolved,
               resolve_study(*ledger, {.config = config,
                                       .storage = settings.storage,
                                       .budget = settings.budget,
                                       .if_exists = settings.if_exists,
                                       .resume = settings.must_exist}));
  DETOL_ASSIGN(record, open_or_create(*ledger, config, resolved, /*data_fingerprint=*/0));
  DETOL_ASSIGN(events, ledger->events(record.id));
  std::vector<Event> opening;
  if (events.empty()) {
    DETOL_ASSIGN(auto sources, choose_sources(*ledger, record, config));
    for (event::Source& source : sources) opening.emplace_back(std::move(source));
  }
  opening.emplace_back(event::StudyState{StudyPhase::kRunning, resolved.budget,
                                         system_clock().wall_s(), "", resolved.config});
  DETOL_TRY(ledger->append(record.id, opening));
  record.budget = resolved.budget;
  events.insert(events.end(), opening.begin(), opening.end());
  config.study = resolved.study;
  return {};
}

Result<void> StudyService::Parts::make_driver(const StudyServiceSettings& settings) {
  const bool is_simulated = settings.clock != nullptr;
  Clock& clock = is_simulated ? *settings.clock : system_clock();
  DETOL_ASSIGN(auto sources, sources_of(events));
  DETOL_ASSIGN(searcher, searcher_of(config, {.sources = std::move(sources)}));
  DETOL_ASSIGN(search, assemble_search(config));
  DETOL_ASSIGN(const Budget budget, budget_in_force(record.budget));
  callers.emplace(config, clock);
  driver.emplace(DriverParts{
      .config = config,
      .candidates = candidates,
      .ledger = *ledger,
      .study = record.id,
      .searcher = *searcher,
      .pruner = *search.pruner,
      .pool = *callers,
      .clock = clock,
      .budget = budget,
      .folder = std::filesystem::absolute(artefact_folder(settings.storage, config.study)),
      .initial = search.initial,
      .refits = is_simulated ? Refits::kAtOnce : Refits::kBeside,
      .asks = {.asks = is_simulated ? Asks::kAtOnce : Asks::kBeside,
               .fallback = is_simulated ? nullptr : search.fallback.get()},
      .retry_failed = settings.retry_failed});
  DETOL_TRY(driver->replay(events));
  callers->attach(driver->state(), events, settings.own);
  events = {};
  DETOL_TRY(driver->begin());
  ended_before = static_cast<std::size_t>(
      std::ranges::count_if(driver->state().trials(), &TrialRecord::is_over));
  return {};
}

// Makes a turn of the driver. Returns false once the study has failed or is closed; calls are then
// answered with the error.
bool StudyService::Parts::turn() {
  if (!end || !driver) {
    callers->end(end ? kClosed : end.error());
    return false;
  }
  try {
    const Result<void> done = driver->turn(/*at_most_s=*/0);
    if (!done) end = tl::unexpected(done.error());
  } catch (const std::exception& error) {
    end = fail(ErrorCode::kInternal, error.what());
  }
  if (end)
    callers->settle(*driver);
  else
    callers->end(end.error());
  return end.has_value();
}

// Ends the run: DONE if nothing is left to do, else STOPPED.
Result<std::string> StudyService::Parts::finish() {
  callers->begin_closing();
  if (!driver->is_over()) driver->stop();
  while (!driver->is_over()) DETOL_TRY(driver->turn(kTurnS));
  auto ended = driver->finish();
  if (!ended && ended.error().code == ErrorCode::kInterrupted) return ended.error().message;
  return ended;
}

StudyService::StudyService(std::unique_ptr<Parts> parts, bool has_thread)
    : parts_(std::move(parts)) {
  if (!has_thread) return;
  thread_ = std::thread([&parts = *parts_] {
    while (!parts.is_closing) {
      parts.callers->wait_for_calls(parts.wait_s);
      const std::lock_guard lock(parts.turning);
      if (!parts.turn()) return;
      parts.wait_s = parts.driver->longest_wait_s();
    }
  });
}

void StudyService::look() {
  {
    const std::unique_lock lock(parts_->turning, std::try_to_lock);
    if (lock) parts_->turn();
    if (lock && !parts_->callers->has_calls()) return;
  }
  parts_->callers->announce();
}

Result<std::unique_ptr<StudyService>> StudyService::open(const StudyConfig& config,
                                                         const StudyServiceSettings& settings) {
  if (config.trains() || config.table)
    return fail(
        ErrorCode::kInput,
        fmt::format("the candidates of study {} are scored by detol; `detol search` does "
                    "it. To evaluate them yourself, give the space `external: {{}}` instead",
                    config.study));
  DETOL_TRY(make_pruner(config.pruner.name, pruner_settings_of(config)));  // before anything exists
  DETOL_TRY(searcher_of(config, {}));
  return patiently(settings, [&]() -> Result<std::unique_ptr<StudyService>> {
    DETOL_ASSIGN(auto database, Database::claim(settings.storage));
    auto parts = std::make_unique<Parts>(std::move(database), config);
    DETOL_TRY(parts->open_ledger(settings));
    DETOL_TRY(parts->make_driver(settings));
    return std::unique_ptr<StudyService>(
        new StudyService(std::move(parts), settings.clock == nullptr));
  });
}

bool may_be_opened_soon(const Error& error, bool begins) {
  return error.system_error == EWOULDBLOCK || (begins && error.code == ErrorCode::kStudy);
}

StudyService::~StudyService() {
  (void)close();
}

Callers& StudyService::callers() {
  return *parts_->callers;
}

const StudyConfig& StudyService::config() const {
  return parts_->config;
}

std::size_t StudyService::ended_before() const {
  return parts_->ended_before;
}

Result<std::string> StudyService::close() {
  if (parts_->ledger != nullptr) {
    parts_->is_closing = true;
    parts_->callers->announce();
    if (thread_.joinable()) thread_.join();
    const std::lock_guard lock(parts_->turning);
    if (parts_->end) parts_->end = parts_->finish();
    parts_->callers->end(kClosed);
    parts_->driver.reset();  // before what it refers to
    parts_->ledger.reset();  // unlocks the study
    parts_->database.reset();
  }
  return parts_->end;
}

}  // namespace detol::inline scheduler
