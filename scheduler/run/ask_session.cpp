#include "scheduler/run/ask_session.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "core/clock.h"
#include "core/json_text.h"
#include "core/log.h"
#include "core/table.h"
#include "encodings/study/study_changes.h"
#include "knowledge/artefacts.h"
#include "knowledge/query.h"
#include "knowledge/studies.h"
#include "scheduler/asking/ask_lines.h"
#include "scheduler/asking/study_service.h"
#include "scheduler/launchers/rendezvous.h"
#include "scheduler/processes/calls.h"
#include "scheduler/processes/run_folder.h"
#include "scheduler/time_limits.h"

namespace detol::inline scheduler {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr auto kTryAgain = std::chrono::milliseconds(5);
// A call may be what ends whoever gets it: it is sent to one more, for a process that was killed.
constexpr int kMostEnds = 2;
constexpr double kSoonS = 60;
constexpr std::size_t kReleasedAtOnce = 10'000;  // calls have a largest size

// Returns the study if it is there. Errors: kInput if it was begun with another config.
Result<std::optional<StudyRecord>> find_begun(const AskSessionSettings& settings) {
  const auto reader = Reader::open(settings.storage);
  auto record = reader ? (*reader)->study(settings.study)
                       : Result<StudyRecord>(tl::unexpected(reader.error()));
  if (!record && record.error().code == ErrorCode::kStudy && settings.config)
    return std::optional<StudyRecord>();
  if (!record) return tl::unexpected(record.error());
  if (settings.config) {
    DETOL_ASSIGN(const StudyConfig config, for_begun_study(*settings.config, record->config));
    DETOL_TRY(changes_of_study(record->config, config.text));
  }
  return std::optional(*std::move(record));
}

// Checks that the space is the one in force: a study that another process runs takes no wider one.
Result<void> has_the_space_of(const std::optional<StudyRecord>& record,
                              const AskSessionSettings& settings) {
  if (!record || !settings.config) return {};
  DETOL_ASSIGN(const auto changes, changes_of_study(record->config, settings.config->text));
  if (changes.empty()) return {};
  return fail(ErrorCode::kInput,
              fmt::format("study '{}' is being run with another space ({}); it can be changed once "
                          "no process runs it",
                          record->name, to_text(changes.front())));
}

// Says so if the budget that was asked for is not the one in force: another process runs the study.
void warn_of_another_budget(const std::optional<StudyRecord>& record,
                            const AskSessionSettings& settings) {
  if (!record || !settings.budget) return;
  if (to_text(*settings.budget) == record->budget) return;
  log_warning("study {} is being run by another process; its budget stays {}", record->name,
              record->budget.empty() ? "without a limit" : record->budget);
}

std::vector<TrialId> trials_of(const std::map<TrialId, int>& attempts) {
  std::vector<TrialId> trials;
  for (const auto& [trial, attempt] : attempts) trials.push_back(trial);
  return trials;
}

}  // namespace

// Gate: the way to the process that runs the study.
class AskSession::Gate {
 public:
  virtual ~Gate() = default;
  virtual std::optional<std::string> call(const std::string& line) = 0;  // nullopt: it is gone
  virtual bool is_the_last() const { return true; }  // no other process runs the study since
  virtual Result<std::string> close() { return std::string(); }
};

class AskSession::Remote final : public Gate {
 public:
  Remote(CallClient client, MasterAddress master, std::string caller)
      : client_(std::move(client)), master_(std::move(master)), caller_(std::move(caller)) {}

  std::optional<std::string> call(const std::string& line) override {
    return client_.call(caller_, line, [this] {
      const auto now = master_now(master_.run_file);
      return now && now->process == master_.process;
    });
  }
  bool is_the_last() const override { return detol::is_the_last(master_); }

 private:
  CallClient client_;
  const MasterAddress master_;
  const std::string caller_;
};

class AskSession::Local final : public Gate {
 public:
  Local(std::unique_ptr<StudyService> service, std::string caller)
      : service_(std::move(service)), caller_(std::move(caller)) {}
  ~Local() override { (void)close(); }

  // Lets other processes call this one.
  Result<void> serve(const fs::path& file) {
    DETOL_ASSIGN(auto folder, RunFolder::make_with("asking", ""));
    folder_ = std::make_unique<RunFolder>(std::move(folder));
    file_ = file;
    DETOL_ASSIGN(RendezvousInfo info, rendezvous_info(folder_->path(), Reach::kSocket));
    info.comes_back = false;
    DETOL_ASSIGN(server_, CallServer::start(info.socket, info.key,
                                            [&service = *service_](const auto& call, auto answer) {
                                              detol::call(service.callers(), service.config(),
                                                          call.line, call.caller,
                                                          std::move(answer));
                                              service.look();
                                            }));
    std::error_code ignored;
    fs::create_directories(file.parent_path(), ignored);
    return publish(info, file);
  }

  std::optional<std::string> call(const std::string& line) override {
    const auto promise = std::make_shared<std::promise<std::string>>();
    auto answer = promise->get_future();
    detol::call(service_->callers(), service_->config(), line, caller_,
                [promise](std::string text) { promise->set_value(std::move(text)); });
    service_->look();
    return answer.get();
  }

  Result<std::string> close() override {
    if (server_) remove_published(folder_->path(), file_);
    auto ended = service_->close();
    server_.reset();
    return ended;
  }

 private:
  std::unique_ptr<RunFolder> folder_;
  fs::path file_;
  std::unique_ptr<StudyService> service_;
  std::unique_ptr<CallServer> server_;  // ends before the service
  const std::string caller_;
};

AskSession::AskSession(AskSessionSettings settings)
    : settings_(std::move(settings)),
      caller_(settings_.serves ? this_caller() : std::string(kNoCaller)),
      join_file_(artefact_folder(settings_.storage, settings_.study) / kJoinFile) {}

AskSession::~AskSession() = default;

Result<std::unique_ptr<AskSession>> AskSession::open(AskSessionSettings settings) {
  std::unique_ptr<AskSession> session(new AskSession(std::move(settings)));
  DETOL_ASSIGN(session->gate_, session->open_gate());
  return session;
}

// Goes to the process that runs the study, or opens it here. A master that was killed comes back
// within kRestartS: until then its study is not taken from it.
Result<std::unique_ptr<AskSession::Gate>> AskSession::open_gate() {
  const double began_s = system_clock().now_s();
  const bool resumes = settings_.if_exists == IfExists::kResume;
  for (;; std::this_thread::sleep_for(kTryAgain)) {
    const auto master = resumes ? master_now(join_file_) : std::nullopt;
    if (master) {
      DETOL_ASSIGN(const auto record, find_begun(settings_));
      DETOL_TRY(has_the_space_of(record, settings_));
      DETOL_ASSIGN(CallClient client, CallClient::connect(*master));
      auto gate = std::make_unique<Remote>(std::move(client), *master, caller_);
      warn_of_another_budget(record, settings_);
      const std::string have = compact(json{{"have", trials_of(have_)}});
      if (have_.empty() || gate->call(have)) return gate;
      continue;
    }
    const double waited_s = system_clock().now_s() - began_s;
    const auto other = read_rendezvous(join_file_);
    if (resumes && other && other->comes_back && waited_s < kRestartS) continue;
    auto gate = open_here();
    if (gate || waited_s >= settings_.patience_s) return gate;
    const bool may_begin = settings_.config && settings_.if_exists != IfExists::kFail;
    if (!may_be_opened_soon(gate.error(), may_begin)) return gate;
  }
}

Result<std::unique_ptr<AskSession::Gate>> AskSession::open_here() {
  std::optional<StudyRecord> record;
  if (settings_.if_exists == IfExists::kResume) {
    DETOL_ASSIGN(record, find_begun(settings_));
  }
  StudyConfig config;
  if (record && settings_.config) {
    DETOL_ASSIGN(config, for_begun_study(*settings_.config, record->config));
  } else if (record) {
    DETOL_ASSIGN(config, load_study_config(record->config, record->name));
  } else {
    config = *settings_.config;
  }
  config.study = settings_.study;
  DETOL_ASSIGN(auto service, StudyService::open(config, {.storage = settings_.storage,
                                                         .budget = settings_.budget,
                                                         .if_exists = settings_.if_exists,
                                                         .must_exist = record.has_value(),
                                                         .own = trials_of(have_),
                                                         .retry_failed = settings_.retry_failed,
                                                         .patience_s = 0}));
  take_name(service->config().study);
  auto gate = std::make_unique<Local>(std::move(service), caller_);
  std::error_code ignored;
  fs::remove(join_file_, ignored);  // of a process that was killed
  if (settings_.serves) DETOL_TRY(gate->serve(join_file_));
  settings_.budget.reset();  // `+2h` counts once
  settings_.retry_failed = false;
  settings_.if_exists = IfExists::kResume;
  return gate;
}

// Takes the name that the study got: one that another study had is numbered.
void AskSession::take_name(const std::string& study) {
  settings_.study = study;
  if (settings_.config) settings_.config->study = study;
  join_file_ = artefact_folder(settings_.storage, study) / kJoinFile;
}

Result<std::string> AskSession::call(const std::string& line) {
  for (int ends = 0;;) {
    if (gate_ && !gate_->is_the_last()) gate_.reset();
    if (!gate_) {
      DETOL_ASSIGN(gate_, open_gate());
    }
    const double sent_s = system_clock().now_s();
    if (auto answer = gate_->call(line)) {
      learn(line, *answer);
      return *std::move(answer);
    }
    gate_.reset();
    if (system_clock().now_s() - sent_s > kSoonS) continue;  // it waited, and did no harm
    if (++ends == kMostEnds)
      return fail(ErrorCode::kStorage,
                  fmt::format("the process that runs study '{}' ended {} times soon after it was "
                              "sent this call, which is not sent again: {}",
                              settings_.study, ends, in_quotes(line)));
  }
}

// Keeps which trials this session has.
void AskSession::learn(const std::string& line, const std::string& answer) {
  const json asked = json_or_discarded(line), got = json_or_discarded(answer);
  if (!asked.is_object() || !got.is_object()) return;
  for (const json& trial : got.value("trials", json::array())) {
    if (trial.contains("attempt")) have_[trial.at("trial")] = trial.at("attempt");
  }
  const auto forget = [&](const json& trial) {
    std::erase_if(have_, [&](const auto& item) { return trial == item.first; });
  };
  if (got.value("stop", json(false)) == json(true)) forget(asked.value("report", json()));
  const json told = asked.value("tell", json());
  if (!told.is_array()) return forget(got.contains("state") ? told : json());
  for (const json& one : told) {
    if (one.is_object()) forget(one.value("trial", json()));
  }
}

// Gives back what this session has; many at a time, since each call is a commit.
void AskSession::release_all() {
  json released = json::array();
  const auto send = [&] {
    if (!released.empty())
      gate_->call(compact(json{{"tell", std::exchange(released, json::array())}}));
  };
  for (const auto& [trial, attempt] : std::exchange(have_, {})) {
    released.push_back({{"trial", trial}, {"attempt", attempt}, {"released", true}});
    if (released.size() == kReleasedAtOnce) send();
  }
  send();
}

Result<std::string> AskSession::close() {
  if (!gate_) return std::string();
  if (settings_.serves) release_all();
  auto ended = gate_->close();
  gate_.reset();
  return ended;
}

}  // namespace detol::inline scheduler
