#include "knowledge/ledger.h"

#include <fmt/format.h>

#include <unordered_map>

#include "core/clock.h"
#include "core/log.h"
#include "knowledge/event_writer_impl.h"
#include "knowledge/file_system_impl.h"
#include "knowledge/rows_impl.h"
#include "knowledge/snapshot_impl.h"
#include "knowledge/studies.h"
#include "knowledge/writable_database_impl.h"

namespace detol::inline knowledge {
namespace {

namespace fs = std::filesystem;

class SqliteLedger final : public Ledger {
 public:
  SqliteLedger(WritableDatabase writing, EventWriter writer, Snapshots snapshots)
      : writing_(std::move(writing)),
        writer_(std::move(writer)),
        snapshots_(std::move(snapshots)) {}

  Result<StudyId> create_study(const StudyRecord& record) override;
  Result<void> append(StudyId id, std::span<const Event> events) override;
  bool may_retry() const override { return writing_.may_retry(); }

  Result<StudyRecord> study(const std::string& name) override {
    DETOL_ASSIGN(Study found, find_study(writing_.database(), name));
    return std::move(found.record);
  }
  Result<std::vector<Event>> events(StudyId id) override {
    return read_events(writing_.database(), id);
  }

 private:
  Result<Study*> load(StudyId id);
  void announce(const std::string& running);

  WritableDatabase writing_;
  EventWriter writer_;
  Snapshots snapshots_;
  std::unordered_map<StudyId, Study> studies_;  // as committed
  std::string announced_;                       // the running study, as written to the lock's file
};

Result<StudyId> SqliteLedger::create_study(const StudyRecord& record) {
  DETOL_TRY(check_new_name(record.name));
  DETOL_ASSIGN(const auto known, read_studies(writing_.database()));
  for (const Study& other : known) {
    if (other.record.name != record.name) continue;
    return fail(ErrorCode::kStudy,
                fmt::format("study '{0}' exists; `detol resume {0}` continues it", record.name));
  }
  Study study{record, 0, 0, 0};
  study.record.id = known.empty() ? 1 : known.back().record.id + 1;
  DETOL_TRY(writing_.in_transaction([&] { return writer_.create(study); }));
  const StudyId id = study.record.id;
  studies_.insert_or_assign(id, std::move(study));
  return id;
}

Result<void> SqliteLedger::append(StudyId id, std::span<const Event> events) {
  DETOL_ASSIGN(Study* const committed, load(id));
  Study study = *committed;
  auto done = writing_.in_transaction([&]() -> Result<void> {
    for (const Event& event : events) DETOL_TRY(writer_.add(study, event));
    return writer_.save(study);
  });
  if (!done) return done;
  announce(study.record.state == StudyPhase::kRunning ? study.record.name : "");
  snapshots_.update(writing_.database());
  *committed = std::move(study);
  return {};
}

void SqliteLedger::announce(const std::string& running) {
  if (running == announced_) return;
  writing_.lock().announce(running);
  announced_ = running;
  snapshots_.request();
}

Result<Study*> SqliteLedger::load(StudyId id) {
  if (const auto known = studies_.find(id); known != studies_.end()) return &known->second;
  DETOL_ASSIGN(auto studies, read_studies(writing_.database()));
  for (Study& study : studies) studies_.try_emplace(study.record.id, std::move(study));
  if (const auto known = studies_.find(id); known != studies_.end()) return &known->second;
  return fail(ErrorCode::kStudy, fmt::format("no study has the number {}", id));
}

}  // namespace

Result<std::unique_ptr<Ledger>> Ledger::open(const fs::path& given) {
  const fs::path path = real_path(given);
  DETOL_ASSIGN(WritableDatabase writing, WritableDatabase::open(path));
  DETOL_ASSIGN(EventWriter writer, EventWriter::make(writing.database()));
  Snapshots snapshots(path, system_clock());
  if (is_on_network(path)) {
    log_info(
        "{} is on a network file system: until the end only this process can open it; "
        "others read {}, a copy at most a minute old (docs/knowledge-base.md)",
        path.string(), snapshot_of(path).string());
  }
  return std::make_unique<SqliteLedger>(std::move(writing), std::move(writer),
                                        std::move(snapshots));
}

}  // namespace detol::inline knowledge
