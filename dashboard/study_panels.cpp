#include "dashboard/study_panels.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <list>
#include <mutex>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/log.h"
#include "knowledge/changes.h"
#include "report/gathering/live_study.h"
#include "studies/labels.h"
#include "studies/study_requests.h"
#include "studies/trial_summary.h"

namespace detol::inline dashboard {
namespace {

constexpr std::size_t kMostStudies = 200;        // in the list, the newest
constexpr std::size_t kMostTrialsKept = 200000;  // of all studies that are kept, but for the last

// REQUIRES: it is no note.
RunRequest request_of(const Action& action) {
  switch (action.kind) {
    case Action::kPrune:
      return {RunRequest::kPrune, action.trial.value_or(0)};
    case Action::kRetry:
      return {RunRequest::kRetry, action.trial.value_or(0)};
    case Action::kBudget:
      return {.kind = RunRequest::kBudget, .budget = action.more};
    default:
      return {RunRequest::kStop};
  }
}

bool is_run(std::span<const Writer> writers, const StudyProgress& study) {
  return find_runner(writers, study.id, study.name) != nullptr;
}

class StudyPanels final : public Panels {
 public:
  explicit StudyPanels(std::string storage) : storage_(std::move(storage)) {}

  Result<std::string> studies() override {
    DETOL_ASSIGN(const auto reader, Reader::open(storage_));
    DETOL_ASSIGN(const auto all, progress_of_studies(*reader));
    DETOL_ASSIGN(const auto writers, current_writers(storage_));
    nlohmann::ordered_json rows = nlohmann::ordered_json::array();
    for (std::size_t i = 0; i < std::min(all.size(), kMostStudies); ++i) {
      const auto goals = json_or_discarded(all[i].objectives_json);
      rows.push_back({{"name", all[i].name},
                      {"state", shown_state(all[i].state, is_run(writers, all[i]))},
                      {"is_run", is_run(writers, all[i])},
                      {"trials", all[i].trials},
                      {"last", all[i].last},
                      {"best", all[i].best ? nlohmann::json(*all[i].best) : nlohmann::json()},
                      {"objectives", goals.is_array() ? goals : nlohmann::json::array()}});
    }
    return compact(nlohmann::ordered_json({{"of", all.size()}, {"studies", std::move(rows)}}));
  }

  Result<std::string> model(const std::string& study) override {
    return with(study, [](LiveStudy& live, const OpenStudy& open) -> Result<std::string> {
      DETOL_ASSIGN(const LiveModel model, live.model(open));
      ::malloc_trim(0);
      return fmt::format(R"({{"last":{},"again_s":{},"model":{}}})", model.last, model.again_s,
                         model.json);
    });
  }

  Result<std::string> trials(const std::string& study, const TrialQuery& query) override {
    if (query.sort == "trial" && query.words.empty()) {
      DETOL_ASSIGN(const OpenStudy open, open_named(study));
      return trials_by_number(open, query);
    }
    return with(study,
                [&](LiveStudy& live, const OpenStudy& open) { return live.table(open, query); });
  }

  Result<void> act(const Action& action) override {
    DETOL_ASSIGN(OpenStudy study, open_named(action.study));
    const std::lock_guard one(acting_);  // a process has one ledger of a database
    if (action.kind != Action::kNote) return request(study, action);
    if (action.trial) DETOL_TRY(trial_numbered(study, *action.trial));
    study.reader.reset();  // on a network file system one process opens the file once
    DETOL_TRY(change_labels(storage_, study.record, {.target = action.trial, .note = action.note}));
    return with(action.study, [](LiveStudy& live, const OpenStudy&) -> Result<void> {
      live.forget_model();
      return {};
    });
  }

 private:
  struct Kept {
    explicit Kept(const std::string& storage, StudyId id) : live(storage, id) {}
    std::mutex mutex;
    LiveStudy live;
  };

  Result<OpenStudy> open_named(const std::string& study) const {
    if (study.empty()) return fail(ErrorCode::kUsage, "no study is named");
    return open_study(storage_, study);
  }

  // Asks whoever runs the study, and does not wait for the answer: it is seen in what is shown.
  Result<void> request(const OpenStudy& study, const Action& action) const {
    DETOL_ASSIGN(const auto file, ask_runner(storage_, study, request_of(action)));
    log_info("study {}: {} from the dashboard", study.record.name, file.filename().string());
    return {};
  }

  // Calls `use` with what is kept of the study; one thread at a time for each study.
  template <typename Use>
  auto with(const std::string& name, Use use)
      -> decltype(use(std::declval<LiveStudy&>(), std::declval<OpenStudy&>())) {
    DETOL_ASSIGN(const OpenStudy study, open_named(name));
    const std::shared_ptr<Kept> kept = keep(study.record.id);
    const std::lock_guard lock(kept->mutex);
    return use(kept->live, study);
  }

  // Returns what is kept of the study, and lets others go where that is too much.
  std::shared_ptr<Kept> keep(StudyId id) {
    const std::lock_guard lock(mutex_);
    const auto found =
        std::ranges::find_if(kept_, [&](const auto& one) { return one->live.id() == id; });
    if (found != kept_.end())
      kept_.splice(kept_.begin(), kept_, found);
    else
      kept_.push_front(std::make_shared<Kept>(storage_, id));
    std::size_t trials = 0, place = 0;
    std::erase_if(kept_, [&](const auto& one) {
      const std::unique_lock busy(one->mutex, std::try_to_lock);
      if (busy) trials += one->live.trials();
      return place++ > 0 && busy && trials > kMostTrialsKept;
    });
    return kept_.front();
  }

  const std::string storage_;
  std::mutex mutex_, acting_;
  std::list<std::shared_ptr<Kept>> kept_;  // the last one that was asked for first
};

}  // namespace

std::unique_ptr<Panels> study_panels(std::string storage) {
  return std::make_unique<StudyPanels>(std::move(storage));
}

}  // namespace detol::inline dashboard
